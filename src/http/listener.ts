import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { settlesWithin } from "../scheduling/settles-within.ts";
import { TurnBatcher } from "../scheduling/turn-batcher.ts";
import type { ExchangeOptions } from "./base-exchange.ts";
import { Connections } from "./connections.ts";
import type { Exchange } from "./exchange.ts";
import { Http1Exchange } from "./http1-exchange.ts";
import { createHttp1Server, type Http1ServerOptions } from "./http1-server.ts";
import { Http2Exchange } from "./http2-exchange.ts";
import { createDetachedHttp2Server, type NodeHandler } from "./http2-server.ts";
import { InFlight } from "./in-flight.ts";
import { Pipelines } from "./pipelines.ts";
import { detectHttp2 } from "./preface.ts";

/** How long what has been answered may take to leave after the last answer, in milliseconds. */
const flushMs = 1_000;

/** What a listener does with what it hears. */
export interface ListenerOptions extends ExchangeOptions, Omit<Http1ServerOptions, "handleRequest"> {
  readonly host: string;
  readonly port: number;
  /** Answers a request. It must not reject. */
  readonly handle: (exchange: Exchange) => Promise<void>;
  /** Answers the requests for its paths, in place of `handle`. */
  readonly nodeHandler: NodeHandler;
  /** Hears why a connection could not be accepted, such as for want of file handles. */
  readonly reportAcceptError: (reason: Error) => void;
  /** Hears whose connection is ended for the many calls that it begins at once. */
  readonly reportBurst: (peerAddress: string) => void;
}

/** A port that is listened on. */
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
  const { nodeHandler, handle, reportBurst, requestTimeoutMs, tls } = options;
  const inFlight = new InFlight();
  const leave = () => inFlight.leave();
  const requests = new TurnBatcher<Exchange>(setImmediate, (exchange) => void handle(exchange));
  const pipelines = new Pipelines((request, response) => {
    const exchange = new Http1Exchange(request, response, options);
    if (nodeHandler.serves(exchange.path)) {
      nodeHandler.handle(request, response);
    } else {
      requests.add(exchange);
    }
  }, inFlight);

  const http2 = createDetachedHttp2Server({
    nodeHandler,
    reportBurst,
    onStream(stream) {
      inFlight.enter();
      stream.on("close", leave);
    },
    handleStream: (stream, headers, rawHeaders) =>
      requests.add(new Http2Exchange(stream, headers, rawHeaders, options)),
  });
  const http1 = createHttp1Server({
    ...options,
    handleRequest: (request, response) => pipelines.add(request, response),
    handleParseError(error, socket) {
      // In the place of an answer that is owed to an earlier request, one to this would be taken for it.
      if (!pipelines.closeBehindOwed(socket)) {
        options.handleParseError(error, socket);
      }
    },
  });
  const event = tls === undefined ? "connection" : "secureConnection";
  const http1Listeners = http1.listeners(event) as ((socket: Socket) => void)[];
  http1.removeAllListeners(event);
  const connections = new Connections(http1);

  function connect(socket: Socket, isHttp2: boolean): void {
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
    if (tls === undefined) {
      detectHttp2(socket, requestTimeoutMs, (isHttp2) => connect(socket, isHttp2));
    } else {
      connect(socket, (socket as TLSSocket).alpnProtocol === "h2");
    }
  });

  http1.listen(options.port, options.host);
  await once(http1, "listening");
  http1.on("error", options.reportAcceptError);

  return {
    address: http1.address() as AddressInfo,
    async close(graceMs) {
      const closed = once(http1, "close");
      http1.close();
      pipelines.end();
      http2.close();
      await settlesWithin(graceMs, inFlight.drain());
      http2.destroy();
      connections.end();
      await settlesWithin(flushMs, closed);
      connections.destroy();
    },
  };
}
