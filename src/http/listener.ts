import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { createServer as createTlsServer } from "node:tls";
import { settlesWithin } from "../scheduling/timing.ts";
import { TurnBatcher } from "../scheduling/turn-batcher.ts";
import type { Exchange, ExchangeOptions } from "./exchange.ts";
import { Http1Connection, type Http1Options } from "./http1/connection.ts";
import { type ConnectionHandlers, Http2Connection } from "./http2/connection.ts";
import { Http2Exchange } from "./http2/exchange.ts";

/** How long the last bytes may take to be sent after the last answer, in milliseconds. */
const flushMs = 1_000;

/** Where a listener listens, and who answers. */
export interface ListenerOptions extends ExchangeOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** PEM texts. Undefined for cleartext. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Answers a request, or refuses what could not be read as one: its method is empty. It must not reject. */
  readonly handle: (exchange: Exchange) => Promise<void>;
  /** Is called when a connection cannot be accepted, such as for lack of file descriptors. */
  readonly reportAcceptError: (reason: Error) => void;
  /** Is called with the address of a peer whose connection is ended because it begins too many calls at once. */
  readonly reportBurst: (peerAddress: string) => void;
}

/** A port that the server listens on. */
export interface Listener {
  readonly address: AddressInfo;
  /** Accepts no more connections, waits up to `graceMs` for running calls, and then closes what is left. */
  close(graceMs: number): Promise<void>;
}

/**
 * Listens on one port for HTTP/1.1 and HTTP/2. The first bytes of a cleartext connection tell which one it is; over
 * TLS, ALPN does. Rejects when it cannot listen.
 */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const server = createSocketServer(options);
  const connections = new Connections(server, options);

  server.listen(options.port, options.host);
  await once(server, "listening");
  server.on("error", options.reportAcceptError);

  return {
    address: server.address() as AddressInfo,
    async close(graceMs) {
      const closed = once(server, "close");
      server.close();
      connections.close();
      await settlesWithin(graceMs, connections.drained());
      connections.end();
      await settlesWithin(flushMs, closed);
      connections.destroy();
    },
  };
}

/** How long a connection may be silent before the system asks whether its peer is still there, in milliseconds. */
const keepAliveMs = 60_000;

/**
 * Creates the server. Over TLS it offers both versions of HTTP by ALPN. `allowHalfOpen` lets it answer a client that
 * ends its side within a request.
 */
function createSocketServer({ tls, requestTimeoutMs }: ListenerOptions): Server {
  const settings = { noDelay: true, allowHalfOpen: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs };
  return tls === undefined
    ? createServer(settings)
    : createTlsServer({
        ...settings,
        ...tls,
        handshakeTimeout: requestTimeoutMs,
        ALPNProtocols: ["h2", "http/1.1"],
      }).on("tlsClientError", (_error, socket) => socket.destroy());
}

/** A connection whose protocol is known. */
interface Connection {
  /** Is called once a second. */
  tick(): void;
  /** Takes no new requests, and ends the connection after those that are running. Tells the client so. */
  close(): void;
  /** Ends the connection and its running requests, once the written bytes are sent. */
  end(): void;
}

/** The open connections of a server, of either protocol. Connections that have not sent anything yet are included. */
class Connections {
  readonly #http1: Http1Options;
  readonly #http2: ConnectionHandlers;
  readonly #sockets = new Set<Socket>();
  readonly #connections = new Map<Socket, Connection>();
  readonly #isEncrypted: boolean;
  readonly #clock: NodeJS.Timeout;
  #isClosing = false;
  /** How many requests are being handled: their answers are neither complete nor given up. */
  #inFlight = 0;
  #onDrained: (() => void) | undefined;

  /** Serves the connections that `server` accepts. */
  constructor(server: Server, options: ListenerOptions) {
    const requests = new TurnBatcher<Exchange>(setImmediate, options.handle);
    const handleExchange = (exchange: Exchange) => {
      this.#inFlight += 1;
      requests.add(exchange);
    };
    this.#http1 = { ...options, handleExchange, onRequestEnded: this.#endRequest };
    this.#http2 = {
      onStream: (stream) => handleExchange(new Http2Exchange(stream, options)),
      onStreamClosed: this.#endRequest,
      onBurst: options.reportBurst,
    };
    this.#isEncrypted = options.tls !== undefined;
    this.#clock = setInterval(() => this.#tick(), 1_000).unref();
    server.on("connection", (socket: Socket) => this.#keep(socket));
    if (this.#isEncrypted) {
      server.on("secureConnection", (socket: TLSSocket) => {
        this.#keep(socket);
        this.#serve(socket, socket.alpnProtocol === "h2", 0);
      });
    } else {
      server.on("connection", (socket: Socket) => {
        detectHttp2(socket, options.requestTimeoutMs, (isHttp2, waitedMs) => this.#serve(socket, isHttp2, waitedMs));
      });
    }
  }

  /** Remembers a socket until it closes. Over TLS a connection has two: the TCP socket and the TLS socket. */
  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    // After an error, Node closes the socket. No more needs to be done.
    socket.on("error", () => {});
    socket.once("close", () => this.#sockets.delete(socket));
  }

  /** Serves a connection, whose client has had `waitedMs` of its time for the first head. */
  #serve(socket: Socket, isHttp2: boolean, waitedMs: number): void {
    const connection = isHttp2
      ? new Http2Connection(socket, this.#http2, this.#http1.requestTimeoutMs, waitedMs)
      : new Http1Connection(socket, this.#http1, waitedMs);
    this.#connections.set(socket, connection);
    socket.once("close", () => this.#connections.delete(socket));
    if (this.#isClosing) {
      connection.close();
    }
    socket.resume();
  }

  #tick(): void {
    for (const connection of this.#connections.values()) {
      connection.tick();
    }
  }

  readonly #endRequest = (): void => {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) {
      this.#onDrained?.();
    }
  };

  /** Resolves when no request is in flight. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      if (this.#inFlight === 0) {
        resolve();
      }
    });
  }

  /** Takes no further requests, and ends each connection after its last answer. */
  close(): void {
    this.#isClosing = true;
    for (const connection of this.#connections.values()) {
      connection.close();
    }
  }

  /**
   * Ends each connection as soon as all that was written to it has been sent. Those that end by themselves, and those
   * that are still in their TLS handshake, are left for `destroy`.
   */
  end(): void {
    clearInterval(this.#clock);
    for (const [socket, connection] of this.#connections) {
      // Where our side has ended, the client may still be reading its last answer.
      if (!socket.writableEnded) {
        connection.end();
      }
    }
    // A TCP socket below TLS ends after its TLS socket. It may not have sent the last bytes of that socket yet.
    for (const socket of this.#isEncrypted ? [] : this.#sockets) {
      if (!this.#connections.has(socket)) {
        socket.destroySoon();
      }
    }
  }

  destroy(): void {
    for (const socket of this.#sockets) {
      socket.destroy();
    }
  }
}

/** The first bytes of an HTTP/2 connection. Source: https://www.rfc-editor.org/rfc/rfc9113#section-3.4 */
const prefaceStart = Buffer.from("PRI ");

/**
 * Tells from the first bytes of a connection whether the client speaks HTTP/2. Puts the bytes back, and then calls
 * `found` with the time that they took. A client that sends too few bytes within `timeoutMs` does not speak it. Closes a
 * connection that sends none. Does not call `found` if the connection ends first.
 */
function detectHttp2(socket: Socket, timeoutMs: number, found: (isHttp2: boolean, waitedMs: number) => void): void {
  const startedAtMs = performance.now();
  let seen: Buffer = Buffer.alloc(0);

  function onData(chunk: Buffer): void {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, prefaceStart.length);
    const isStart = seen.compare(prefaceStart, 0, length, 0, length) === 0;
    if (!isStart || length === prefaceStart.length) {
      decide(isStart);
    }
  }
  function decide(isHttp2: boolean): void {
    stop();
    socket.pause();
    socket.unshift(seen);
    found(isHttp2, performance.now() - startedAtMs);
  }
  function onTimeout(): void {
    if (seen.length === 0) {
      giveUp();
    } else {
      decide(false);
    }
  }
  function giveUp(): void {
    stop();
    socket.destroy();
  }
  function stop(): void {
    clearTimeout(timer);
    socket.off("data", onData).off("end", giveUp).off("close", stop);
  }

  const timer = setTimeout(onTimeout, timeoutMs);
  // `close` clears the timer, which would otherwise keep a stopping server from ending.
  socket.on("data", onData).on("end", giveUp).on("close", stop);
}
