import { constants, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { drainBody } from "../body.ts";

/**
 * Three faults of a stream whose answer has ended before its request. RFC 9113, section 8.1, has the server reset it
 * with NO_ERROR, so that the client stops sending.
 *
 * 1. A reset drops the headers and data of the answer that have not been written yet, and Node tells nobody when they
 *    have been. So `resetOnceSent` asks nghttp2 whether the stream is closed on our side.
 * 2. Node never destroys a stream that is closed without an error while unread data of its request is buffered. So
 *    `resetOnceSent` destroys it.
 * 3. Node writes the answer at once, but the reset only at the end of the loop's next turn, in which it reads the
 *    streams that the client opens on the answer. Submitting the reset twice writes it at once: see `reset`.
 *
 * Seen with: Node 26.10; 2. and 3. also with 24.21.
 * Upstream: 2. https://github.com/nodejs/node/pull/27891 documents it. 1. and 3. No issue is known. Source:
 *   `Http2Stream::SubmitRstStream` in https://github.com/nodejs/node/blob/main/src/node_http2.cc
 * When mended: 1. `resetUnreadRequest` is `stream.close(NO_ERROR)`. 2. drop the `destroy`. 3. drop the second reset.
 */

/** How often it is checked, once a turn of the event loop, whether an answer has been sent. */
const checksByTurn = 4;

/** The time between two further checks, in milliseconds, and for how long they go on. */
const checkMs = 5;
const giveUpMs = 1_000;

/** Resets a stream with NO_ERROR once its answer has been sent. To be called when the answer has ended. */
export function resetUnreadRequest(stream: ServerHttp2Stream): void {
  if (!hasRequestEnded(stream)) {
    void setImmediate().then(() => resetOnceSent(stream, 1));
  }
}

/**
 * Resets a stream like `resetUnreadRequest`, for an answer without a body, which `answer` sends. The reset goes out
 * together with the headers, if the connection takes them at once.
 *
 * A client may forget a stream when it has the answer, and never end it: grpc-go does, when the connection's window is
 * full. The server counts the stream until the reset. A client that does not count it opens another one, and nghttp2
 * ends the connection of a client that opens too many.
 */
export async function respondAndReset(stream: ServerHttp2Stream, answer: () => void): Promise<void> {
  if (hasRequestEnded(stream)) {
    return answer();
  }
  // Node writes nothing while it parses what it has read, and a reset would drop the headers.
  await setImmediate();
  if (!stream.destroyed && !stream.closed) {
    stream.once("finish", () => (isWrittenAtOnce(stream) ? reset(stream) : resetOnceSent(stream, 1)));
    answer();
  }
}

/**
 * Drains the rest of a request whose answer has ended, and resets the stream past the bounds of `drainBody`. Not every
 * client reads an answer before it has sent its request.
 */
export function drainRequest(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded && !stream.closed) {
    drainBody(stream, () => resetUnreadRequest(stream));
  }
}

/**
 * Resets and destroys a stream whose answer has been sent, or checks again later. A stream whose answer has not been
 * sent must not be destroyed: nghttp2 would ask for the rest of it for ever.
 */
function resetOnceSent(stream: ServerHttp2Stream, checks: number): void {
  if (hasRequestEnded(stream)) {
    return;
  }
  if (!stream.writableFinished) {
    // The client has yet to take the answer, which other limits bound.
    stream.once("finish", () => resetOnceSent(stream, 1));
  } else if (stream.state.localClose === 1) {
    reset(stream);
    void setImmediate().then(() => stream.destroy());
  } else if (checks * checkMs > giveUpMs) {
    stream.close(constants.NGHTTP2_CANCEL);
  } else if (checks < checksByTurn) {
    void setImmediate().then(() => resetOnceSent(stream, checks + 1));
  } else {
    setTimeout(resetOnceSent, checkMs, stream, checks + 1);
  }
}

/** Whether there is nothing left to stop. Data that is buffered then is thrown away. */
function hasRequestEnded(stream: ServerHttp2Stream): boolean {
  if (stream.destroyed || stream.closed || stream.readableEnded) {
    return true;
  }
  const hasEnded = stream.state.remoteClose === 1;
  if (hasEnded) {
    stream.resume();
  }
  return hasEnded;
}

/**
 * Whether Node writes frames of a stream as soon as they are submitted. It does not while the system takes no more of
 * the connection. Over TLS nothing tells.
 */
function isWrittenAtOnce({ session }: ServerHttp2Stream): boolean {
  const socket = session?.socket as (Socket & SocketParts) | undefined;
  return socket !== undefined && socket.encrypted !== true && socket._handle?.writeQueueSize === 0;
}

interface SocketParts {
  readonly encrypted?: boolean;
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}

interface NativeStream {
  rstStream(code: number): void;
}

let handleKey: symbol | undefined;

/** Resets a stream. The second submission writes the reset at once, and does nothing else. */
function reset(stream: ServerHttp2Stream): void {
  stream.close(constants.NGHTTP2_NO_ERROR);
  handleKey ??= Object.getOwnPropertySymbols(stream).find(({ description }) => description === "kHandle");
  const native = (stream as unknown as Readonly<Record<symbol, NativeStream | undefined>>)[handleKey as symbol];
  if (!stream.destroyed && stream.writableFinished) {
    native?.rstStream(constants.NGHTTP2_NO_ERROR);
  }
}
