import { randomBytes } from "node:crypto";

/** Tells whether the inventory has changed: what two equal tags stand for is the same. */
export class InventoryVersion {
  /** Others than the tags of an earlier run, which this one knows nothing of. */
  readonly #run = randomBytes(6).toString("base64url");
  #changes = 0;

  /** The version as a weak `ETag`. Source: RFC 9110, 8.8.3 */
  get etag(): string {
    return `W/"${this.#run}-${this.#changes}"`;
  }

  raise(): void {
    this.#changes += 1;
  }
}
