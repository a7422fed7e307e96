import { createHash } from "node:crypto";
import type { CopiedRow, CopiedValue } from "./tables.ts";

/** The number of a table's rows, and a digest of them in their order: by it two sides are compared. */
export class TableDigest {
  readonly #hash = createHash("sha256");
  #count = 0;

  add(rows: readonly CopiedRow[]): void {
    this.#hash.update(rows.map((row) => `${row.map(write).join(",")}\n`).join(""));
    this.#count += rows.length;
  }

  get count(): number {
    return this.#count;
  }

  /** It is the last call. */
  finish(): string {
    return this.#hash.digest("hex");
  }
}

/** Two different values of a type are never written alike. */
function write(value: CopiedValue): string {
  if (typeof value === "string") {
    return JSON.stringify(value);
  }
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex");
  }
  return Array.isArray(value) ? `[${value.map(write).join(",")}]` : String(value);
}
