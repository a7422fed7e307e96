import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";

/**
 * Fault: Node aborts when the garbage collector frees an HTTP/2 session before a stream of it that still holds headers.
 * The headers of an unfinished or refused block live in the session's memory, and the session's destructor asserts
 * that all of its memory is free: `Assertion failed: (current_nghttp2_memory_) == (0)`. Any client can cause it.
 *
 * Seen with: Node 26.10. Not seen with 24.21.
 * Upstream: https://github.com/nodejs/node/issues/39951 is the same assertion, for another cause that is mended.
 *   Source: `Http2Session::~Http2Session` and `Http2Stream::Destroy` in
 *   https://github.com/nodejs/node/blob/main/src/node_http2.cc
 * When mended: delete this file, and its two calls in `http2-server.ts`.
 */

/** The C++ object behind a session or a stream. */
type NativeHandle = object;

/**
 * What a kept session reports to the collector, in bytes. A session takes some 20 kB of memory that the collector does
 * not see. With this it runs once 256 sessions, or 64 MB, are kept.
 */
const reportedBytes = 262_144;

interface Kept {
  readonly native: NativeHandle;
  /** Never written to, so that the system hardly gives it any memory. */
  readonly reported: ArrayBuffer;
}

const keptByHandle = new WeakMap<NativeHandle, Kept>();

/** Keeps the handles of sessions until the handles of their streams are freed. */
const untilFreed = new FinalizationRegistry<Kept>(({ native }) => keepForThisTurn(native));

/**
 * Keeps a session's handle, when it closes, until Node has deleted the streams that it deletes itself. Streams that
 * wait for the collector need `keepSessionUntilStreamFreed`.
 */
export function keepSessionUntilStreamsFreed(session: ServerHttp2Session): void {
  destroyAfterSocket(session);
  let native = nativeHandle(session);
  session.on("close", () => {
    keepForThisTurn(native);
    // A closed session and its listeners may live long.
    native = undefined;
  });
}

/**
 * Puts off the destruction of a session whose socket is closing. Node would never tell it that its writes have failed,
 * so that it, and the streams that wrote, would be kept here for ever. Node destroys it when the socket has closed.
 */
function destroyAfterSocket(session: ServerHttp2Session): void {
  const { socket } = session;
  const destroy = session.destroy.bind(session);
  session.destroy = (...reason) => {
    if (session.destroyed || !socket.destroyed) {
      destroy(...reason);
    }
  };
}

/**
 * Keeps the handle of a stream's session until the collector has freed the stream's. Node leaves a stream to the
 * collector when data of it is still on the socket. A stream can hold headers only if its request goes on after the
 * first ones.
 */
export function keepSessionUntilStreamFreed(stream: ServerHttp2Stream): void {
  if (stream.endAfterHeaders) {
    return;
  }
  const native = nativeHandle(stream);
  const ofSession = nativeHandle(stream.session);
  let wasUnsent: boolean | undefined;
  stream.on("aborted", () => {
    wasUnsent = stream.writableLength > 0;
  });
  stream.on("close", () => {
    if (native !== undefined && ofSession !== undefined && (wasUnsent ?? !stream.writableFinished)) {
      untilFreed.register(native, keep(ofSession));
    }
  });
}

function keep(native: NativeHandle): Kept {
  const known = keptByHandle.get(native);
  if (known !== undefined) {
    return known;
  }
  const made = { native, reported: new ArrayBuffer(reportedBytes) };
  keptByHandle.set(native, made);
  return made;
}

/** Node deletes its streams before the next callbacks of `setImmediate`. */
function keepForThisTurn(native: NativeHandle | undefined): void {
  setImmediate(() => native);
}

let handleKey: symbol | undefined;

function nativeHandle(of: object | undefined): NativeHandle | undefined {
  handleKey ??= of && Object.getOwnPropertySymbols(of).find(({ description }) => description === "kHandle");
  return (of as Readonly<Record<symbol, NativeHandle | undefined>> | undefined)?.[handleKey as symbol];
}
