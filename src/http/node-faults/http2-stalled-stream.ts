import { constants, type ServerHttp2Stream } from "node:http2";

/** After so long, in milliseconds, it is looked whether a client has taken something of its answer. */
const stalledMs = 60_000;

/**
 * Resets a stream whose client takes nothing of its answer for a minute or two. A timeout of Node's does not: what is
 * sent to the connection puts it off, an answer to a ping included.
 */
export function resetIfStalled(stream: ServerHttp2Stream): void {
  let hasMoved = true;
  stream.on("drain", () => {
    hasMoved = true;
  });
  const timer = setInterval(() => {
    if (!hasMoved) {
      stream.close(constants.NGHTTP2_CANCEL);
    }
    hasMoved = false;
  }, stalledMs).unref();
  stream.once("close", () => clearInterval(timer));
}
