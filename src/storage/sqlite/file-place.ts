import { statSync } from "node:fs";
import { StoreFileError } from "./database.ts";

/**
 * The place of a file that has been opened. Once it has been moved away, deleted or replaced, SQLite goes on with the
 * file that it has, and what is written there goes with the process.
 */
export class FilePlace {
  readonly #path: string;
  readonly #opened: string;

  constructor(path: string) {
    this.#path = path;
    this.#opened = identityAt(path);
  }

  /** Throws `StoreFileError` unless the path leads to the file that it led to at first. */
  assertKept(): void {
    if (identityAt(this.#path) !== this.#opened) {
      throw new StoreFileError(
        `${this.#path} is not the file that was opened: put that back, or start the server again`,
      );
    }
  }
}

/** Empty where there is no file. */
function identityAt(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? "" : `${stats.dev}:${stats.ino}`;
}
