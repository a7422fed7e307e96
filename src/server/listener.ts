import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { ServerHttp2Session } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { ExchangeOptions } from "../http/base-exchange.ts";
import type { Exchange } from "../http/exchange.ts";
import { Http1Exchange } from "../http/http1-exchange.ts";
import { Http2Exchange } from "../http/http2-exchange.ts";
import { parseTarget } from "../http/target.ts";
import type { ConnectServices } from "./connect-services.ts";
import { createDetachedHttp2Server } from "./http2-server.ts";
import { detectHttp2 } from "./preface.ts";

/** What a listener does with what it hears. */
export interface ListenerOptions extends ExchangeOptions {
  readonly host: string;
  readonly port: number;
  /** PEM texts. Undefined for cleartext. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Answers a request. It must not reject. */
  readonly handle: (exchange: Exchange) => Promise<void>;
  /** Answers the requests for its paths itself. */
  readonly connectServices: ConnectServices;
  /** Answers, on the bare socket, what is no HTTP or came too late, and closes it. */
  readonly handleUnparsed: (error: Error, socket: Socket) => void;
}

export interface Listener {
  readonly address: AddressInfo;
  /** Takes no more connections, lets running calls finish for `graceMs` at most, and then closes what is left. */
  close(graceMs: number): Promise<void>;
}

/**
 * Listens on one port for HTTP/1.1 and HTTP/2: by the first bytes of a connection in cleartext, by ALPN over TLS.
 * Rejects when it cannot listen.
 *
 * Node's HTTP/1.1 server is the listener, so that its timeouts hold; its own handling of connections is taken off, and
 * used for those that turn out to be HTTP/1.1.
 */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { connectServices } = options;
  const running = new Set<Promise<void>>();
  let isClosing = false;

  function run(exchange: Exchange): void {
    const done = options.handle(exchange).finally(() => running.delete(done));
    running.add(done);
  }
  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    if (isClosing) {
      response.setHeader("connection", "close");
    }
    if (connectServices.serves(parseTarget(request.url ?? "").path)) {
      connectServices.handle(request, response);
    } else {
      run(new Http1Exchange(request, response, options));
    }
  }

  const http2 = createDetachedHttp2Server({
    connectServices,
    handleStream: (stream, headers, _flags, rawHeaders) => run(new Http2Exchange(stream, headers, rawHeaders, options)),
  });
  const http1 = createHttp1Server(options, onRequest);
  const event = options.tls === undefined ? "connection" : "secureConnection";
  const http1Listeners = http1.listeners(event) as ((socket: Socket) => void)[];
  http1.removeAllListeners(event);

  function hand(socket: Socket, isHttp2: boolean): void {
    if (isHttp2) {
      socket.allowHalfOpen = false;
      http2.server.emit("connection", socket);
      return;
    }
    for (const listener of http1Listeners) {
      listener.call(http1, socket);
    }
    socket.resume();
  }
  http1.on(event, (socket: Socket) => {
    if (options.tls === undefined) {
      detectHttp2(socket, options.requestTimeoutMs, (isHttp2) => hand(socket, isHttp2));
    } else {
      hand(socket, (socket as TLSSocket).alpnProtocol === "h2");
    }
  });

  await new Promise<void>((resolve, reject) => {
    http1.once("error", reject);
    http1.listen(options.port, options.host, () => resolve(void http1.off("error", reject)));
  });

  return {
    address: http1.address() as AddressInfo,
    async close(graceMs) {
      isClosing = true;
      // Idle connections are closed by it.
      http1.close();
      for (const session of http2.sessions) {
        session.close();
      }
      const calls = Promise.allSettled(running);
      await atMost(graceMs, Promise.all([calls, connectionsClosed(http1, http2.sessions)]));
      http1.closeAllConnections();
      for (const session of http2.sessions) {
        session.destroy();
      }
    },
  };
}

function createHttp1Server(
  { tls, requestTimeoutMs, handleUnparsed }: ListenerOptions,
  onRequest: RequestListener,
): Server {
  const settings = {
    headersTimeout: requestTimeoutMs,
    // The body's time is kept where it is read; this bounds what nobody reads.
    requestTimeout: 2 * requestTimeoutMs,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: 1_000,
    // A request without Host is answered by the handlers, as any other that is malformed.
    requireHostHeader: false,
  };
  const server =
    tls === undefined
      ? createServer(settings, onRequest)
      : createHttpsServer({ ...settings, ...tls, ALPNProtocols: ["h2", "http/1.1"] }, onRequest);
  // The body is asked for when it is read, and by no one whom it is not read from.
  server.on("checkContinue", onRequest);
  server.on("checkExpectation", onRequest);
  server.on("clientError", (error, socket) => handleUnparsed(error, socket as Socket));
  server.on("connect", (_request, socket) => handleUnparsed(new Error("CONNECT is not served"), socket as Socket));
  return server;
}

/** Resolves when the last answer has left: connections that have no more to send are closed as they become idle. */
function connectionsClosed(http1: Server, sessions: ReadonlySet<ServerHttp2Session>): Promise<unknown> {
  const idle = setInterval(() => http1.closeIdleConnections(), 20);
  const http1Closed = once(http1, "close").finally(() => clearInterval(idle));
  const http2Closed = [...sessions].map((session) => session.destroyed || once(session, "close"));
  return Promise.all([http1Closed, ...http2Closed]);
}

async function atMost(ms: number, promise: Promise<unknown>): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}
