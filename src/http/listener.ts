import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { settlesWithin } from "../scheduling/timing.ts";
import { TurnBatcher } from "../scheduling/turn-batcher.ts";
import { Connections } from "./connections.ts";
import type { Exchange, ExchangeOptions } from "./exchange.ts";
import type { ParseFault } from "./http1/connection.ts";

/** How long the last bytes may take to be sent after the last answer, in milliseconds. */
const flushMs = 1_000;

/** Where a listener listens, and who answers. */
export interface ListenerOptions extends ExchangeOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** PEM texts. Undefined for cleartext. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Answers a request. It must not reject. */
  readonly handle: (exchange: Exchange) => Promise<void>;
  /** Answers what is no request over HTTP/1.1, or came too late, on the bare socket, and closes that. */
  readonly handleFault: (fault: ParseFault, socket: Socket) => void;
  /** Is told why a connection could not be accepted, such as for want of file handles. */
  readonly reportAcceptError: (reason: Error) => void;
  /** Is told the address of a peer whose connection is ended, because it begins too many calls at once. */
  readonly reportBurst: (peerAddress: string) => void;
}

/** A port that is listened on. */
export interface Listener {
  readonly address: AddressInfo;
  /** Accepts no more connections, waits up to `graceMs` for running calls, and then closes what is left. */
  close(graceMs: number): Promise<void>;
}

/**
 * Listens on one port for HTTP/1.1 and HTTP/2. In cleartext the first bytes of a connection tell them apart, over TLS
 * ALPN does. Rejects when it cannot listen.
 */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const requests = new TurnBatcher<Exchange>(setImmediate, options.handle);
  const server = createSocketServer(options);
  const handleExchange = (exchange: Exchange) => requests.add(exchange);
  const connections = new Connections(server, { ...options, handleExchange });

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

/** Over TLS it offers both versions of HTTP by ALPN. A client that ends its side too early is told so. */
function createSocketServer({ tls }: ListenerOptions): Server {
  const settings = { noDelay: true, allowHalfOpen: true };
  return tls === undefined
    ? createServer(settings)
    : createTlsServer({ ...settings, ...tls, ALPNProtocols: ["h2", "http/1.1"] }).on(
        "tlsClientError",
        (_error, socket) => socket.destroy(),
      );
}
