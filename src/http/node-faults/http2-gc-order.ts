import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";

/**
 * Node's HTTP/2 has an object of its own in C++ behind every session and every stream, which the garbage collector
 * takes. It must take that of a session last: a stream holds the headers of a block that has not ended, or that was
 * refused, in memory of its session, and a session that ends while some of its memory is held aborts the process, with
 * `Assertion failed: (current_nghttp2_memory_) == (0)`. Nothing in Node sees to the order, so this module does.
 *
 * Source: `Http2Session::~Http2Session` and `Http2Stream::Destroy` in
 * https://github.com/nodejs/node/blob/main/src/node_http2.cc
 */

/** What JavaScript has of such an object. */
type NativePart = object;

/**
 * What a kept session counts for with the collector, in bytes. It takes some 20 kB, of which the collector knows
 * nothing: it comes when some 64 MB are kept, that is, 256 sessions.
 */
const countedBytes = 262_144;

interface Kept {
  readonly native: NativePart;
  /** Nothing is ever written to it, so that the system mostly gives it no memory. */
  readonly counted: ArrayBuffer;
}

/** By their native parts, the sessions that are kept. */
const kept = new WeakMap<NativePart, Kept>();

/** Keeps the native parts of sessions until the collector has taken those of streams. */
const untilTaken = new FinalizationRegistry<Kept>(({ native }) => keepForThisTurn(native));

/** Keeps a session's native part until those of its streams are deleted that the collector does not take. */
export function keepSessionUntilStreamsFreed(session: ServerHttp2Session): void {
  destroyBehindSocket(session);
  let native = nativePart(session);
  session.on("close", () => {
    keepForThisTurn(native);
    // A closed session may be there for long, and its listeners with it.
    native = undefined;
  });
}

/**
 * A session that is destroyed while its socket closes never hears of what it has written to it, and keeps that, and the
 * streams of which it is, for as long as it is kept itself. When the socket has closed Node destroys it anyway, without
 * a reason.
 */
function destroyBehindSocket(session: ServerHttp2Session): void {
  const { socket } = session;
  const destroy = session.destroy.bind(session);
  session.destroy = (...reason) => {
    if (session.destroyed || !socket.destroyed) {
      destroy(...reason);
    }
  };
}

/**
 * Keeps the native part of a stream's session until the collector has taken that of the stream. It is left to the
 * collector where data of the stream is still on the socket; and there are headers in it only where the client has not
 * ended its request.
 */
export function keepSessionUntilStreamFreed(stream: ServerHttp2Stream): void {
  if (stream.endAfterHeaders) {
    return;
  }
  const native = nativePart(stream);
  const ofSession = nativePart(stream.session);
  let wasUnsent: boolean | undefined;
  stream.on("aborted", () => {
    wasUnsent = stream.writableLength > 0;
  });
  stream.on("close", () => {
    if (native !== undefined && ofSession !== undefined && (wasUnsent ?? !stream.writableFinished)) {
      untilTaken.register(native, keep(ofSession));
    }
  });
}

function keep(native: NativePart): Kept {
  const known = kept.get(native);
  if (known !== undefined) {
    return known;
  }
  const made = { native, counted: new ArrayBuffer(countedBytes) };
  kept.set(native, made);
  return made;
}

/** Node deletes what it means to delete before the next callbacks of `setImmediate`. */
function keepForThisTurn(native: NativePart | undefined): void {
  setImmediate(() => native);
}

let key: symbol | undefined;

function nativePart(of: object | undefined): NativePart | undefined {
  key ??= of && Object.getOwnPropertySymbols(of).find(({ description }) => description === "kHandle");
  return (of as Readonly<Record<symbol, NativePart | undefined>> | undefined)?.[key as symbol];
}
