/**
 * Fault: an import of `node:http` loads undici, the client behind `fetch`. An `import` reads every property of the
 * module, and three of them load undici when they are read. This takes a tenth of the server's start, and 3 MB. The
 * server needs none of the three.
 *
 * Seen with: Node 24.21 and 26.10.
 * Upstream: the three getters in https://github.com/nodejs/node/blob/main/lib/http.js, which `syncExports` reads in
 *   https://github.com/nodejs/node/blob/main/lib/internal/bootstrap/realm.js
 * When mended: delete this file.
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
