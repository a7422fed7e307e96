import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";

/**
 * What Node has been given of an answer, and has not sent when the client resets the stream, it counts as memory of the
 * connection for ever. Past `maxSessionMemory` it refuses all further streams, though it leaves the connection open:
 * whoever shares it is locked out. So a connection is renewed before: the client is told to open another one, and what
 * is under way is answered.
 *
 * Source: `Http2Stream::Destroy`, which takes nothing back of what `DoWrite` has counted, in
 * https://github.com/nodejs/node/blob/main/src/node_http2.cc
 */

/** How much Node may go on to count before a connection is renewed, in bytes. */
const mostUnsentBytes = 16 * 1024 * 1024;

/** In megabytes: what may be unsent, a piece for each of 128 streams, twice, and room for the headers of requests. */
export const maxSessionMemory = 96;

/** The sizes of answers that Node was given whole. It tells nothing of what becomes of them. */
const wholeBytes = new WeakMap<ServerHttp2Stream, number>();

const unsentBytes = new WeakMap<ServerHttp2Session, number>();

/** Ends a stream with a whole body of so many bytes, of which `trackUnsentBytes` is to know. */
export function endWith(stream: ServerHttp2Stream, body: string | Uint8Array, bytes: number): void {
  wholeBytes.set(stream, bytes);
  stream.end(body);
}

/** Has the stream's connection renewed in time, should the stream be reset. */
export function trackUnsentBytes(stream: ServerHttp2Stream): void {
  const session = stream.session as ServerHttp2Session;
  let unsent: number | undefined;
  stream.on("aborted", () => {
    unsent = stream.writableLength;
  });
  stream.on("close", () => {
    // One that has ended as it should may be closed before it counts as finished.
    const wasReset = stream.rstCode !== constants.NGHTTP2_NO_ERROR && !stream.writableFinished;
    const bytes = unsent ?? (wasReset ? (wholeBytes.get(stream) ?? 0) : 0);
    if (bytes > 0) {
      const sum = bytes + (unsentBytes.get(session) ?? 0);
      unsentBytes.set(session, sum);
      if (sum > mostUnsentBytes && !session.closed) {
        session.close();
      }
    }
  });
}
