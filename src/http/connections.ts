import type { Server, Socket } from "node:net";
import { ignoreErrors } from "./node-faults/http1-socket-errors.ts";

/** The open connections of a server, whatever their protocol, and whether or not they have sent anything. */
export class Connections {
  readonly #sockets = new Set<Socket>();

  /** Collects a server's connections; over TLS both the encrypted and the decrypted side of each. */
  constructor(server: Server) {
    for (const event of ["connection", "secureConnection"]) {
      server.on(event, (socket: Socket) => {
        this.#sockets.add(socket);
        ignoreErrors(socket);
        socket.once("close", () => this.#sockets.delete(socket));
      });
    }
  }

  /** Closes each connection as soon as all that was written to it has been sent. */
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
