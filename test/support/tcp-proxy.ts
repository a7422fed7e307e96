import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";

/** Passes connections of the loopback address on to a port, and can spoil them. */
export class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** How long each piece of an answer is held back, in milliseconds. */
  delayMs = 0;
  /** Rewrites the answers, piece by piece. */
  rewrite: (answer: string) => string = (answer) => answer;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server);
    server.on("connection", (client) => proxy.#pass(client, connect(targetPort, "127.0.0.1")));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends all connections; new ones are accepted. */
  cut(): void {
    for (const socket of this.#sockets) {
      socket.destroy();
    }
  }

  close(): void {
    this.#server.close();
    this.cut();
  }

  #pass(client: Socket, target: Socket): void {
    let passing = Promise.resolve();
    target.on("data", (piece) => {
      const due = setTimeout(this.delayMs);
      passing = passing.then(() => due).then(() => void client.write(this.rewrite(piece.toString("latin1")), "latin1"));
    });
    for (const socket of [client, target]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        client.destroy();
        target.destroy();
      });
    }
    client.pipe(target);
  }
}
