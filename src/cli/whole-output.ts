import { fstatSync, writeSync } from "node:fs";
import type { Writable } from "node:stream";

/**
 * Fault: where stdout is a file, `process.stdout` takes a write of a part for a write of all. A disk that becomes full
 * takes a part of the last chunk, and the rest is lost without an error.
 *
 * Seen with: Node 24.21 and 26.10.
 * Upstream: `_write`, which ignores the result of `writeSync`, in
 *   https://github.com/nodejs/node/blob/main/lib/internal/fs/sync_write_stream.js
 * When mended: delete this file.
 */

/** Has a stream write all of each chunk, or fail, if it writes to a file. The one of a worker thread has no `fd`. */
export function writeWhole(stream: Writable & { readonly fd?: number | undefined }): void {
  const { fd } = stream;
  if (fd === undefined || !fstatSync(fd).isFile()) {
    return;
  }
  stream._write = (chunk: Uint8Array, _encoding, done) => {
    try {
      for (let written = 0; written < chunk.length; ) {
        written += writeSync(fd, chunk, written);
      }
    } catch (error) {
      done(error as Error);
      return;
    }
    done();
  };
}
