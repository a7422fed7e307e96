import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

const host = "127.0.0.1";

/** A plain load balancer: each connection of a client goes to the next server, or else to one that accepts it. */
export class Balancer {
  readonly #server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  readonly #ports: readonly number[];
  readonly #clients = new Set<Socket>();
  #turn = 0;

  private constructor(ports: readonly number[]) {
    this.#ports = ports;
  }

  /** Starts one on a free port of the loopback address, in front of servers on these ports. */
  static async start(ports: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(ports);
    balancer.#server.listen(0, host);
    await once(balancer.#server, "listening");
    return balancer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    for (const client of this.#clients) {
      client.destroy();
    }
  }

  #accept(client: Socket): void {
    this.#clients.add(client);
    client.on("error", () => {});
    client.on("close", () => this.#clients.delete(client));
    this.#connect(client, this.#ports.length);
  }

  #connect(client: Socket, attempts: number): void {
    const port = this.#ports[this.#turn % this.#ports.length] as number;
    this.#turn += 1;
    const server = connect({ host, port, allowHalfOpen: true });
    const refused = () => (attempts > 1 ? this.#connect(client, attempts - 1) : client.destroy());
    server.once("error", refused);
    server.once("connect", () => {
      server.off("error", refused);
      join(client, server);
    });
  }
}

/** Passes on what either says, until one has gone. */
function join(client: Socket, server: Socket): void {
  server.on("error", () => {});
  if (client.destroyed) {
    server.destroy();
    return;
  }
  client.setNoDelay(true).pipe(server);
  server.setNoDelay(true).pipe(client);
  client.on("close", () => server.destroySoon());
  server.on("close", () => client.destroySoon());
}
