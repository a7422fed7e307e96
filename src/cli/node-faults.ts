import { fstatSync, writeSync } from "node:fs";
import type { Writable } from "node:stream";

/*
 * Fault: an import of `node:http` loads undici, the client behind `fetch`. An `import` reads every property of the
 * module, and three of them load undici when they are read. This takes a tenth of the server's start, and 3 MB. The
 * server needs none of the three.
 *
 * Seen with: Node 24.21 and 26.10.
 * Upstream: the three getters in https://github.com/nodejs/node/blob/main/lib/http.js, which `syncExports` reads in
 *   https://github.com/nodejs/node/blob/main/lib/internal/bootstrap/realm.js
 * When mended: delete `preventUndiciLoad`.
 */

/** The properties of `node:http` that are undici's. The globals of the same names stay, and so does `fetch`. */
const ofUndici = ["WebSocket", "CloseEvent", "MessageEvent"];

/** Removes the properties. Call it before any module that imports `node:http` is loaded. */
export function preventUndiciLoad(): void {
  const http: Partial<Record<string, unknown>> = process.getBuiltinModule("node:http");
  for (const name of ofUndici) {
    delete http[name];
  }
}

/*
 * Fault: where stdout is a file, `process.stdout` takes a write of a part for a write of all. A disk that becomes full
 * takes a part of the last chunk, and the rest is lost without an error.
 *
 * Seen with: Node 24.21 and 26.10.
 * Upstream: `_write`, which ignores the result of `writeSync`, in
 *   https://github.com/nodejs/node/blob/main/lib/internal/fs/sync_write_stream.js
 * When mended: delete `writeWhole`.
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
