import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { settlesWithin } from "../scheduling/settles-within.ts";
import { TurnBatcher } from "../scheduling/turn-batcher.ts";
import type { Exchange, ExchangeOptions } from "./exchange.ts";
import { Http1Exchange } from "./http1-exchange.ts";
import { Connections, createHttp1Server, type Http1ServerOptions } from "./http1-server.ts";
import { Http2Exchange } from "./http2-exchange.ts";
import { Http2Server } from "./http2-server.ts";
import { oncePerSocket } from "./node-faults/http1-socket-errors.ts";
import { InFlight, Pipelines } from "./pipelines.ts";
import { splitByProtocol } from "./preface.ts";

/** How long the last bytes may take to be sent after the last answer, in milliseconds. */
const flushMs = 1_000;

/** Where a listener listens, and who answers. */
export interface ListenerOptions extends ExchangeOptions, Omit<Http1ServerOptions, "handleRequest"> {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Answers a request. It must not reject. */
  readonly handle: (exchange: Exchange) => Promise<void>;
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
  const inFlight = new InFlight();
  const requests = new TurnBatcher<Exchange>(setImmediate, options.handle);
  const pipelines = new Pipelines({
    inFlight,
    begin: (request, response) => requests.add(new Http1Exchange(request, response, options)),
  });
  const http2 = new Http2Server({
    ...options,
    inFlight,
    handleStream: (stream) => requests.add(new Http2Exchange(stream, options)),
  });
  const handleParseError = oncePerSocket(options.handleParseError);
  const http1 = createHttp1Server({
    ...options,
    handleRequest: pipelines.add,
    handleParseError(error, socket) {
      // The client would take a refusal for the answer to an earlier request.
      if (!pipelines.closeBehindOwed(socket)) {
        handleParseError(error, socket);
      }
    },
  });
  splitByProtocol(http1, http2, options);
  const connections = new Connections(http1);

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
