import type { Socket } from "node:net";
import type { Http1Call } from "./http1/call.ts";
import { Http1Connection, type ParseFault } from "./http1/connection.ts";
import type { InFlight } from "./in-flight.ts";

/** How an HTTP/1.1 server answers its requests. */
export interface Http1ServerOptions {
  /** Counts the requests that are in flight. */
  readonly inFlight: InFlight;
  readonly handleCall: (call: Http1Call) => void;
  /** Answers what is no request, or came too late, on the bare socket, and closes that. */
  readonly handleFault: (fault: ParseFault, socket: Socket) => void;
  /** How long the head of a request may take to arrive, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/** Serves connections over HTTP/1.1. It does not listen itself. */
export class Http1Server {
  readonly #options: Http1ServerOptions;
  readonly #connections = new Set<Http1Connection>();
  readonly #clock: NodeJS.Timeout;
  #isEnding = false;

  /** It has to be destroyed at its end. */
  constructor(options: Http1ServerOptions) {
    this.#options = options;
    this.#clock = setInterval(() => this.#tick(), 1_000).unref();
  }

  /** Serves a connection whose client speaks HTTP/1.1. */
  accept(socket: Socket): void {
    const { inFlight, handleCall, handleFault, requestTimeoutMs } = this.#options;
    const handlers = {
      onCall: handleCall,
      onEnter: () => inFlight.enter(),
      onLeave: () => inFlight.leave(),
      onFault: handleFault,
    };
    const connection = new Http1Connection(socket, handlers, requestTimeoutMs / 1_000);
    this.#connections.add(connection);
    socket.once("close", () => this.#connections.delete(connection));
    if (this.#isEnding) {
      connection.end();
    }
  }

  #tick(): void {
    for (const connection of this.#connections) {
      connection.tick();
    }
  }

  /** Tells each client, with the last answer that it is owed, to send no further requests. */
  end(): void {
    this.#isEnding = true;
    for (const connection of this.#connections) {
      connection.end();
    }
  }

  /** Forgets all connections. They are closed by who listens. */
  destroy(): void {
    clearInterval(this.#clock);
  }
}
