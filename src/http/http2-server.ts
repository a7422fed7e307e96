import type { RequestListener } from "node:http";
import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { TurnBatcher } from "../scheduling/turn-batcher.ts";
import { keepSessionUntilStreamFreed, keepSessionUntilStreamsFreed } from "./node-faults/http2-gc-order.ts";
import { resetIfStalled } from "./node-faults/http2-stalled-stream.ts";
import { limitStreamBursts } from "./node-faults/http2-stream-bursts.ts";
import { maxSessionMemory, trackUnsentBytes } from "./node-faults/http2-unsent-bytes.ts";
import { parseTarget } from "./target.ts";

/** A handler that needs Node's own requests; those of HTTP/2 come through Node's compatibility layer. */
export interface NodeHandler {
  /** Whether the handler answers requests for this path. */
  readonly serves: (path: string) => boolean;
  readonly handle: RequestListener;
}

/** Who answers the streams of an HTTP/2 server. */
export interface StreamHandlers {
  /** Answers the requests for its paths. */
  readonly nodeHandler: NodeHandler;
  /** Answers all others, from the bare stream, which costs a fraction. */
  readonly handleStream: (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
  ) => void;
  /** Is told of every stream before it is answered. */
  readonly onStream: (stream: ServerHttp2Stream) => void;
  /** Is told whose connection is ended for the many streams that it opens at once. */
  readonly reportBurst: (peerAddress: string) => void;
}

/**
 * An HTTP/2 server that does not listen itself: connections are handed to it by `server.emit("connection", socket)`.
 */
export interface DetachedHttp2Server {
  readonly server: Http2Server;
  /** Tells all clients to open no further streams. */
  close(): void;
  /** Ends all connections. */
  destroy(): void;
}

/** How long a connection may be silent, in milliseconds: as long as one of HTTP/1.1. */
const idleMs = 65_000;

/** How many streams a connection may have open at a time. Source: RFC 9113, section 6.5.2: at least 100. */
const maxStreams = 128;

/**
 * So many streams a client may reset at once, and so many more a second: one that carries many people's calls takes
 * back many. Each costs as much as a call.
 */
const resets = { streamResetBurst: 1_000, streamResetRate: 100 };

/**
 * So many small answers a connection may leave unread for as long as it likes. To watch over each costs a twentieth of
 * the call.
 */
const maxHeld = 64;

/** How long a client that has said goodbye may leave the connection open, in milliseconds. */
const goodbyeMs = 5_000;

function ignore(): void {}

/**
 * Lets go of all that a closed stream holds of its call. Node's own table of streams, made anew every few hundred of
 * them, has the garbage collector take closed ones for alive.
 */
function forget(this: ServerHttp2Stream): void {
  this.removeAllListeners();
  this.on("error", ignore);
}

/**
 * Stops the timer of a session that is closed. Node means to do so itself, and does not: its `setTimeout` leaves a
 * session alone that is destroyed, and when it is to stop the timer, it is.
 *
 * Source: `closeSession` in https://github.com/nodejs/node/blob/main/lib/internal/http2/core.js
 */
function clearIdleTimer(session: ServerHttp2Session): void {
  const key = Object.getOwnPropertySymbols(session).find(({ description }) => description === "timeout");
  clearTimeout((session as unknown as Record<symbol, NodeJS.Timeout | undefined>)[key as symbol]);
}

type StreamListener = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void;

export function createDetachedHttp2Server({
  nodeHandler,
  handleStream,
  onStream,
  reportBurst,
}: StreamHandlers): DetachedHttp2Server {
  /** How many streams each session has open. */
  const sessions = new Map<ServerHttp2Session, number>();
  const server = createServer({
    settings: { maxConcurrentStreams: maxStreams, enablePush: false },
    maxSessionMemory,
    ...resets,
  });
  // Each takes as long as ten others, which are answered between two rows. The compatibility layer is there before:
  // of an empty request it would never hear the end, which comes at once.
  const connectCalls = new TurnBatcher<[Http2ServerRequest, Http2ServerResponse]>(
    setImmediate,
    ([request, response]) => {
      const { stream } = request;
      if (!stream.destroyed && !stream.closed) {
        nodeHandler.handle(request as never, response as never);
      }
    },
  );
  // Node adds the compatibility layer as a listener of `stream`, when `request` is first listened to. Taken off, it
  // serves the paths that need it.
  server.on("request", (request, response) => connectCalls.add([request, response]));
  const compatibility = server.listeners("stream") as StreamListener[];
  server.removeAllListeners("stream");

  /** Returns how many streams the connection has open, with this one. */
  function count(stream: ServerHttp2Stream): number {
    const session = stream.session as ServerHttp2Session | undefined;
    if (session === undefined) {
      return 0;
    }
    const open = (sessions.get(session) ?? 0) + 1;
    sessions.set(session, open);
    stream.on("close", () => {
      const open = sessions.get(session);
      if (open !== undefined) {
        sessions.set(session, open - 1);
      }
    });
    return open;
  }

  const listener: StreamListener = (stream, headers, flags, rawHeaders) => {
    // A reset stream reports an error; all that it means is that the client has gone away.
    stream.on("error", ignore);
    if (stream.destroyed) {
      return;
    }
    stream.on("close", forget);
    keepSessionUntilStreamFreed(stream);
    trackUnsentBytes(stream);
    onStream(stream);
    const open = count(stream);
    if (!nodeHandler.serves(parseTarget(headers[":path"] ?? "").path)) {
      if (open > maxHeld) {
        resetIfStalled(stream);
      }
      return handleStream(stream, headers, rawHeaders);
    }
    for (const layer of compatibility) {
      layer.call(server, stream, headers, flags, rawHeaders);
    }
  };
  server.on("stream", listener as never);
  const stopEndingBursts = limitStreamBursts(2 * maxStreams, reportBurst);
  server.on("session", (session) => {
    sessions.set(session, 0);
    keepSessionUntilStreamsFreed(session);
    let goodbye: NodeJS.Timeout | undefined;
    session.on("close", () => {
      sessions.delete(session);
      // Either timer would keep the session in memory until it runs out.
      clearTimeout(goodbye);
      clearIdleTimer(session);
    });
    session.setTimeout(idleMs, () => (sessions.get(session) === 0 ? session.destroy() : session.close()));
    // A client that has said goodbye, and does not close the connection, is helped with it.
    session.once("goaway", () => {
      goodbye = setTimeout(() => session.destroy(), goodbyeMs).unref();
    });
  });
  // A broken session is closed by Node; its streams have been told.
  server.on("sessionError", () => {});

  return {
    server,
    close() {
      for (const session of sessions.keys()) {
        session.close();
      }
    },
    destroy() {
      stopEndingBursts();
      for (const session of sessions.keys()) {
        session.destroy();
      }
    },
  };
}
