import { constants, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { drainBody } from "../body.ts";

/** How often it is looked in a row whether an answer has left, once a turn of the event loop. */
const looksInARow = 4;

/** After that, how long to wait before each further look, in milliseconds, and for how long in all. */
const lookAgainMs = 5;
const leaveMs = 1_000;

/**
 * Has a client stop sending, once it has its answer: its stream is reset with NO_ERROR as soon as the answer has left.
 * A reset before that would take back what has not left yet. To be called when the answer has been ended.
 *
 * Source: RFC 9113, section 8.1
 */
export function resetUnreadRequest(stream: ServerHttp2Stream): void {
  if (!isRead(stream)) {
    void setImmediate().then(() => look(stream, 1));
  }
}

/**
 * As `resetUnreadRequest`, for an answer that is nothing but headers, which `answer` sends: the reset leaves together with
 * them, where the connection takes them at once.
 *
 * A client may forget a stream when it has the answer, and never end it: grpc-go does, when it has handed over the
 * request and the connection's window is full. Until the reset the stream counts here, and the client, which counts it
 * no more, opens another one: nghttp2 ends the connection of a client that opens too many.
 */
export async function respondAndReset(stream: ServerHttp2Stream, answer: () => void): Promise<void> {
  if (isRead(stream)) {
    return answer();
  }
  // While Node takes apart what it has read, it writes nothing, and a reset would take the headers back.
  await setImmediate();
  if (!stream.destroyed && !stream.closed) {
    stream.once("finish", () => (isWrittenAtOnce(stream) ? reset(stream) : look(stream, 1)));
    answer();
  }
}

/**
 * Throws away what has not been read of a request whose answer has ended, within bounds, past which the stream is
 * reset: not every client reads an answer before it has sent its request.
 */
export function drainRequest(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded && !stream.closed) {
    drainBody(stream, () => resetUnreadRequest(stream));
  }
}

/**
 * Resets a stream once its answer has left, and has Node let go of it: Node keeps a stream that is closed without an
 * error until its request has been read, which nobody does any more. A stream whose answer has not left must not be
 * destroyed: nghttp2 would ask for the rest of it for ever.
 */
function look(stream: ServerHttp2Stream, looks: number): void {
  if (isRead(stream)) {
    return;
  }
  if (!stream.writableFinished) {
    // It waits for the client to take the answer, which other limits bound.
    stream.once("finish", () => look(stream, 1));
  } else if (stream.state.localClose === 1) {
    reset(stream);
    void setImmediate().then(() => stream.destroy());
  } else if (looks * lookAgainMs > leaveMs) {
    stream.close(constants.NGHTTP2_CANCEL);
  } else if (looks < looksInARow) {
    void setImmediate().then(() => look(stream, looks + 1));
  } else {
    setTimeout(look, lookAgainMs, stream, looks + 1);
  }
}

/** Whether the request has come to its end, so that there is nothing to stop. What has come of it is thrown away. */
function isRead(stream: ServerHttp2Stream): boolean {
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
 * Whether what is submitted for a stream is written as soon as Node is told to. It is not while the system takes no
 * more of the connection; and over TLS nobody tells.
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

/**
 * Node writes what was submitted before a reset at once, but the reset itself only at the end of the loop's next turn,
 * in which it reads the streams that the client opens on the answer. To submit the reset once more writes the first at
 * once, and does nothing else.
 *
 * Source: `Http2Stream::SubmitRstStream` in https://github.com/nodejs/node/blob/main/src/node_http2.cc
 */
function reset(stream: ServerHttp2Stream): void {
  stream.close(constants.NGHTTP2_NO_ERROR);
  handleKey ??= Object.getOwnPropertySymbols(stream).find(({ description }) => description === "kHandle");
  const native = (stream as unknown as Readonly<Record<symbol, NativeStream | undefined>>)[handleKey as symbol];
  if (!stream.destroyed && stream.writableFinished) {
    native?.rstStream(constants.NGHTTP2_NO_ERROR);
  }
}
