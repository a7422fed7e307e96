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
import { limitStreamBursts } from "./node-faults/http2-stream-bursts.ts";
import { clearSessionTimer, resetIfStalled } from "./node-faults/http2-timeouts.ts";
import { maxSessionMemory, trackUnsentBytes } from "./node-faults/http2-unsent-bytes.ts";
import type { InFlight } from "./pipelines.ts";

/** How an HTTP/2 server answers its streams. */
export interface StreamHandlers {
  /** Counts the streams that are in flight. */
  readonly inFlight: InFlight;
  /** Answers a bare stream, or returns false to leave it to `handleRequest`. */
  readonly takeStream: (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
  ) => boolean;
  /** Answers a stream through Node's compatibility layer, which costs many times as much. */
  readonly handleRequest: RequestListener;
  /** Is told the address of a peer whose connection is ended, because it opens too many streams at once. */
  readonly reportBurst: (peerAddress: string) => void;
}

/** An HTTP/2 server that does not listen itself: it is given connections by `server.emit("connection", socket)`. */
export interface DetachedHttp2Server {
  readonly server: Http2Server;
  /** Tells all clients to open no further streams. */
  close(): void;
  /** Ends all connections. */
  destroy(): void;
}

/** How many streams a connection may have open at a time. Source: RFC 9113, section 6.5.2: at least 100. */
const maxStreams = 128;

/**
 * Resets allowed: a burst of 1,000, then 100 a second. Shared connections cancel many calls, and each costs as much as
 * a call.
 */
const resets = { streamResetBurst: 1_000, streamResetRate: 100 };

/** From this many open streams on, a connection's small answers are watched too. It costs a twentieth of a call. */
const maxUnwatched = 64;

/** Makes an HTTP/2 server. It has to be destroyed at its end. */
export function createDetachedHttp2Server(handlers: StreamHandlers): DetachedHttp2Server {
  const { inFlight, takeStream, handleRequest, reportBurst } = handlers;
  const sessions = new Http2Sessions(inFlight);
  const server = createServer({
    settings: { maxConcurrentStreams: maxStreams, enablePush: false },
    maxSessionMemory,
    // Otherwise a value with a space around it is dropped without a word, and a write under `If-Match` is done unguarded.
    strictFieldWhitespaceValidation: false,
    ...resets,
  });
  const useCompatibilityLayer = detachCompatibilityLayer(server, handleRequest);

  const listener: StreamListener = (stream, headers, flags, rawHeaders) => {
    // A reset stream reports an error, which says no more than that the client has gone away.
    stream.on("error", ignore);
    if (stream.destroyed) {
      return;
    }
    stream.on("close", releaseListeners);
    keepSessionUntilStreamFreed(stream);
    trackUnsentBytes(stream);
    const open = sessions.count(stream);
    if (!takeStream(stream, headers, rawHeaders)) {
      useCompatibilityLayer(stream, headers, flags, rawHeaders);
    } else if (open > maxUnwatched) {
      resetIfStalled(stream);
    }
  };
  server.on("stream", listener as never);
  server.on("session", (session) => sessions.add(session));
  // Node closes a broken session; its streams have been told.
  server.on("sessionError", ignore);
  const stopLimitingBursts = limitStreamBursts(2 * maxStreams, reportBurst);
  return {
    server,
    close: () => sessions.close(),
    destroy() {
      stopLimitingBursts();
      sessions.destroy();
    },
  };
}

type StreamListener = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void;

/**
 * Takes Node's compatibility layer off a server, and returns it. Node adds it as a listener of `stream` when `request`
 * is first listened to.
 *
 * Its requests cost as much as ten others, and are handled in batches. The layer is applied at once: later it would
 * miss the end of an empty request.
 */
function detachCompatibilityLayer(server: Http2Server, handleRequest: RequestListener): StreamListener {
  const requests = new TurnBatcher<[Http2ServerRequest, Http2ServerResponse]>(setImmediate, ([request, response]) => {
    const { stream } = request;
    if (!stream.destroyed && !stream.closed) {
      handleRequest(request as never, response as never);
    }
  });
  server.on("request", (request, response) => requests.add([request, response]));
  const layer = server.listeners("stream") as StreamListener[];
  server.removeAllListeners("stream");
  return (...stream) => {
    for (const listener of layer) {
      listener.call(server, ...stream);
    }
  };
}

function ignore(): void {}

/**
 * Releases all that a closed stream's listeners refer to. Node's table of streams is a `Map`, which is rebuilt every
 * few hundred streams, and the collector takes what the old tables hold for alive.
 */
function releaseListeners(this: ServerHttp2Stream): void {
  this.removeAllListeners();
  this.on("error", ignore);
}

/** How long a connection may be silent, in milliseconds: as long as one of HTTP/1.1. */
const idleMs = 65_000;

/** How long a client may leave the connection open after its GOAWAY, in milliseconds. */
const goAwayMs = 5_000;

/** The open sessions of an HTTP/2 server, with how many streams each has open. */
class Http2Sessions {
  readonly #streams = new Map<ServerHttp2Session, number>();
  readonly #inFlight: InFlight;

  constructor(inFlight: InFlight) {
    this.#inFlight = inFlight;
  }

  /** Takes a new session, and closes it when it is idle, or some time after its client has said GOAWAY. */
  add(session: ServerHttp2Session): void {
    this.#streams.set(session, 0);
    keepSessionUntilStreamsFreed(session);
    let goAway: NodeJS.Timeout | undefined;
    session.on("close", () => {
      this.#streams.delete(session);
      // Either timer would keep the session in memory until it fires.
      clearTimeout(goAway);
      clearSessionTimer(session);
    });
    session.setTimeout(idleMs, () => (this.#streams.get(session) === 0 ? session.destroy() : session.close()));
    session.once("goaway", () => {
      goAway = setTimeout(() => session.destroy(), goAwayMs).unref();
    });
  }

  /** Counts a new stream of its session until it closes. Returns how many the session has open, with this one. */
  count(stream: ServerHttp2Stream): number {
    const session = stream.session as ServerHttp2Session;
    this.#inFlight.enter();
    stream.on("close", () => {
      this.#inFlight.leave();
      this.#add(session, -1);
    });
    return this.#add(session, 1);
  }

  /** Returns how many streams the session has open then; 0 for one that has closed. */
  #add(session: ServerHttp2Session, change: 1 | -1): number {
    const known = this.#streams.get(session);
    if (known === undefined) {
      return 0;
    }
    this.#streams.set(session, known + change);
    return known + change;
  }

  /** Tells all clients to open no further streams. */
  close(): void {
    for (const session of this.#streams.keys()) {
      session.close();
    }
  }

  /** Ends all connections. */
  destroy(): void {
    for (const session of this.#streams.keys()) {
      session.destroy();
    }
  }
}
