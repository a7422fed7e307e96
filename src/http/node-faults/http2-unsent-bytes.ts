import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";

/**
 * Fault: Node never subtracts the unsent bytes of a reset stream from the memory of its HTTP/2 session. Past
 * `maxSessionMemory` it refuses every new stream with ENHANCE_YOUR_CALM, and leaves the connection open: a client that
 * shares the connection locks all others out. So the session is closed gracefully before the cap.
 *
 * Seen with: Node 24.21 and 26.10.
 * Upstream: no issue is known. Source: `Http2Stream::Destroy`, which subtracts nothing of what `DoWrite` added, in
 *   https://github.com/nodejs/node/blob/main/src/node_http2.cc
 * When mended: delete this file. `endWithBody` is `stream.end`; `maxSessionMemory` stays in `http2-server.ts`.
 */

/** How many unsent bytes a session may have lost when it is closed. */
const maxLostBytes = 16 * 1024 * 1024;

/** In megabytes: twice a piece of an answer for each of 128 streams, and room for the headers of requests. */
export const maxSessionMemory = 96;

/** The sizes of bodies that Node was given whole. It does not tell how much of them it has sent. */
const wholeBytes = new WeakMap<ServerHttp2Stream, number>();

const lostBytes = new WeakMap<ServerHttp2Session, number>();

/** Ends a stream with a body of this size, and remembers the size for `trackUnsentBytes`. */
export function endWithBody(stream: ServerHttp2Stream, body: string | Uint8Array, bytes: number): void {
  wholeBytes.set(stream, bytes);
  stream.end(body);
}

/** Adds up what the session loses when its streams are reset, and closes it gracefully before the cap. */
export function trackUnsentBytes(stream: ServerHttp2Stream): void {
  const session = stream.session as ServerHttp2Session;
  let unsent: number | undefined;
  stream.on("aborted", () => {
    unsent = stream.writableLength;
  });
  stream.on("close", () => {
    // A stream that ends well may be closed before it counts as finished.
    const wasReset = stream.rstCode !== constants.NGHTTP2_NO_ERROR && !stream.writableFinished;
    const bytes = unsent ?? (wasReset ? (wholeBytes.get(stream) ?? 0) : 0);
    if (bytes > 0) {
      const sum = bytes + (lostBytes.get(session) ?? 0);
      lostBytes.set(session, sum);
      if (sum > maxLostBytes && !session.closed) {
        session.close();
      }
    }
  });
}
