import { randomUUID } from "node:crypto";
import { appendFileSync, createReadStream, openSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemFailure } from "./failure.ts";

/** Keeps what can be read only once, such as stdin, in a temporary file, so that it can be read again. */
export class Spool {
  readonly #fd = openNameless();

  /** Passes bytes on, and keeps them. Throws a `Failure` when there is no room for them. */
  async *record(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of chunks) {
      attempt(() => appendFileSync(this.#fd, chunk));
      yield chunk;
    }
  }

  /** What has been recorded, from its beginning. */
  replay(): AsyncIterable<Uint8Array> {
    return createReadStream("", { fd: this.#fd, start: 0, autoClose: false });
  }
}

/** Opens a file that nobody else can find, and that goes away with the process, however that ends. */
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
