import type { Server, Socket } from "node:net";

/** The connections of a server, be they silent, half open, or of whatever protocol. */
export class Connections {
  readonly #sockets = new Set<Socket>();

  /** Keeps count of a server's connections; over TLS of both what comes in and what is decrypted. */
  constructor(server: Server) {
    for (const event of ["connection", "secureConnection"]) {
      server.on(event, (socket: Socket) => {
        this.#sockets.add(socket);
        // Node takes its own listener off now and then, before it hands a socket on; a client that goes away just then
        // must not end the process.
        socket.on("error", () => {});
        socket.once("close", () => this.#sockets.delete(socket));
      });
    }
  }

  /** Closes each connection as soon as what was written to it has left. */
  end(): void {
    for (const socket of this.#sockets) {
      socket.destroySoon();
    }
  }

  destroy(): void {
    for (const socket of this.#sockets) {
      socket.destroy();
    }
  }
}
