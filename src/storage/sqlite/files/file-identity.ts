import { StoreFileError, toStoreFileError } from "../database.ts";
import { identityOf } from "./file-system.ts";

/**
 * The place of a file that has been opened. Once it has been moved away, deleted or replaced, SQLite goes on with the
 * file that it has, and what is written there goes with the process.
 */
export class FileIdentity {
  readonly #path: string;
  readonly #opened: string | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#opened = identityOf(path);
  }

  /** Throws `StoreFileError` unless the path leads to the file that it led to at first, and where nobody can tell. */
  assertUnmoved(): void {
    try {
      if (identityOf(this.#path) !== this.#opened) {
        throw new StoreFileError(
          `${this.#path} is not the file that was opened: put that back, or start the server again`,
        );
      }
    } catch (error) {
      throw toStoreFileError(error, this.#path);
    }
  }
}
