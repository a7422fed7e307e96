import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Makes a folder that is deleted when the bench's process ends. A signal ends the process in a way that ends its
 * children, too.
 */
export function makeRunFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "petstore-bench-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => process.exit(1));
  }
  return folder;
}
