import type { Socket } from "node:net";
import type { ExchangeOptions } from "../exchange.ts";
import type { InFlight } from "../in-flight.ts";
import { Http2Connection } from "./connection.ts";
import { Http2Exchange } from "./exchange.ts";
import { ErrorCode } from "./frames.ts";
import type { Http2Stream } from "./stream.ts";

/** How an HTTP/2 server answers its streams. */
export interface Http2Options extends ExchangeOptions {
  /** Counts the streams that are in flight. */
  readonly inFlight: InFlight;
  /** Is called with each request when its head has come. */
  readonly handleExchange: (exchange: Http2Exchange) => void;
  /** Is told the address of a peer whose connection is ended, because it opens too many streams at once. */
  readonly reportBurst: (peerAddress: string) => void;
}

/** How often streams are looked at, in milliseconds: a stalled one is reset after one to two such times. */
const stalledMs = 60_000;

/** Serves connections over HTTP/2. It does not listen itself. */
export class Http2Server {
  readonly #options: Http2Options;
  readonly #connections = new Set<Http2Connection>();
  readonly #watch: NodeJS.Timeout;
  #isClosing = false;

  /** It has to be destroyed at its end. */
  constructor(options: Http2Options) {
    this.#options = options;
    this.#watch = setInterval(() => this.#resetStalled(), stalledMs).unref();
  }

  /** Serves a connection whose client speaks HTTP/2. */
  accept(socket: Socket): void {
    const { inFlight, handleExchange, reportBurst, requestTimeoutMs } = this.#options;
    const handlers = {
      onStream: (stream: Http2Stream) => {
        inFlight.enter();
        handleExchange(new Http2Exchange(stream, this.#options));
      },
      onStreamClosed: () => inFlight.leave(),
      onBurst: reportBurst,
    };
    const connection = new Http2Connection(socket, handlers, requestTimeoutMs);
    this.#connections.add(connection);
    socket.once("close", () => this.#connections.delete(connection));
    if (this.#isClosing) {
      connection.close();
    }
  }

  #resetStalled(): void {
    for (const connection of this.#connections) {
      connection.resetStalled();
    }
  }

  /** Tells all clients to open no further streams. */
  close(): void {
    this.#isClosing = true;
    for (const connection of this.#connections) {
      connection.close();
    }
  }

  /** Ends all connections. */
  destroy(): void {
    clearInterval(this.#watch);
    for (const connection of this.#connections) {
      connection.end(ErrorCode.noError);
    }
  }
}
