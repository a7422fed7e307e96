import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";

/**
 * Two faults of Node's HTTP/2 timeouts.
 *
 * 1. `stream.setTimeout` does not fire for a stream whose client takes nothing of it, as long as anything is sent on
 *    the connection. The answer to a ping is enough. So `resetIfStalled` watches the stream itself.
 * 2. The timer of `session.setTimeout` survives the session. `closeSession` calls `setTimeout(0)` after it has marked
 *    the session as destroyed, and `setTimeout` ignores a destroyed session. The timer then keeps the session, and all
 *    that it refers to, in memory until it fires. So `clearSessionTimer` clears it.
 *
 * Seen with: Node 24.21 and 26.10.
 * Upstream: 1. https://github.com/nodejs/node/pull/16525 brought the check that any write of the session satisfies.
 *   2. https://github.com/smithy-lang/smithy-typescript/issues/2258 met the same. Source: `callTimeout` and
 *   `closeSession` in https://github.com/nodejs/node/blob/main/lib/internal/http2/core.js
 * When mended: 1. call `stream.setTimeout` instead. 2. delete `clearSessionTimer` and its call in `http2-server.ts`.
 */

/** How often a stream is looked at, in milliseconds: a stalled one is reset after one to two such times. */
const stalledMs = 60_000;

/** Resets a stream whose client takes nothing of its answer for a minute or two. */
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

/** Clears the timer of a closed session. */
export function clearSessionTimer(session: ServerHttp2Session): void {
  const key = Object.getOwnPropertySymbols(session).find(({ description }) => description === "timeout");
  clearTimeout((session as unknown as Record<symbol, NodeJS.Timeout | undefined>)[key as symbol]);
}
