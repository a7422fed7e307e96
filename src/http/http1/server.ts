import type { Socket } from "node:net";
import { Http1Connection, type Http1Options } from "./connection.ts";

/** Serves connections over HTTP/1.1. It does not listen itself. */
export class Http1Server {
  readonly #options: Http1Options;
  readonly #connections = new Set<Http1Connection>();
  readonly #clock: NodeJS.Timeout;
  #isEnding = false;

  /** It has to be destroyed at its end. */
  constructor(options: Http1Options) {
    this.#options = options;
    this.#clock = setInterval(() => this.#tick(), 1_000).unref();
  }

  /** Serves a connection whose client speaks HTTP/1.1. */
  accept(socket: Socket): void {
    const connection = new Http1Connection(socket, this.#options);
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
