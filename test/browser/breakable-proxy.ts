import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Passes connections on to a port of this machine, and breaks them when a test says so. */
export class BreakableProxy {
  readonly #sockets = new Set<Socket>();
  readonly #held = new Set<Socket>();
  readonly #server = createServer((client) => this.#passOn(client));
  #port = 0;
  #isRefusing = false;

  /** Listens, if it does not yet, and passes further connections on to a port. Resolves to its own origin. */
  async listen(port: number): Promise<string> {
    this.#port = port;
    if (!this.#server.listening) {
      await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    }
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  breakAll(): void {
    for (const socket of this.#sockets) {
      socket.destroy();
    }
  }

  /** Breaks all connections, and further ones as they come. */
  refuse(): void {
    this.#isRefusing = true;
    this.breakAll();
  }

  /** Passes on nothing more over the connections that there are, and leaves them open. Breaks further ones. */
  hold(): void {
    this.#isRefusing = true;
    for (const socket of this.#sockets) {
      this.#held.add(socket.unpipe().resume());
    }
  }

  /** Passes further connections on, and breaks those that are held. */
  restore(): void {
    this.#isRefusing = false;
    for (const socket of this.#held) {
      socket.destroy();
    }
    this.#held.clear();
  }

  close(): void {
    this.breakAll();
    this.#server.close();
  }

  #passOn(client: Socket): void {
    if (this.#isRefusing) {
      client.destroy();
      return;
    }
    const server = connect(this.#port, "127.0.0.1");
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}
