import { randomUUID } from "node:crypto";
import { appendFileSync, createReadStream, openSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemFailure } from "./failure.ts";

/** Copies a stream that can be read only once, such as stdin, to a temporary file, so that it can be read again. */
export class Spool {
  readonly #fd = openNameless();

  /** Passes bytes on, and stores them. Throws a `Failure` when they cannot be stored. */
  async *record(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of chunks) {
      attempt(() => appendFileSync(this.#fd, chunk));
      yield chunk;
    }
  }

  /** The stored bytes, from the start. */
  replay(): AsyncIterable<Uint8Array> {
    return createReadStream("", { fd: this.#fd, start: 0, autoClose: false });
  }
}

/** Opens a file without a name. The system deletes it when the process ends, however it ends. */
function openNameless(): number {
  const path = join(tmpdir(), `petstore-${randomUUID()}`);
  return attempt(() => {
    const fd = openSync(path, "wx+", 0o600);
    unlinkSync(path);
    return fd;
  });
}

function attempt<R>(use: () => R): R {
  try {
    return use();
  } catch (error) {
    throw systemFailure(`write to ${tmpdir()}`, error);
  }
}
