import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** What becomes of the bytes that a client sends: they are passed on, kept back, or passed on without an answer. */
type Handling = "pass" | "hold" | "mute";

/** A proxy in front of a database, which can fail in the ways of networks. */
export class DatabaseProxy {
  readonly #server = createServer((client) => this.#serve(client));
  readonly #links = new Set<{ readonly client: Socket; readonly server: Socket; held: Buffer[]; isMute: boolean }>();
  /** Where new connections lead. */
  targetPort: number;
  /** Decides on what a client sends; by default it is passed on. */
  decide: (bytes: Buffer) => Handling = () => "pass";
  #isFrozen = false;

  private constructor(targetPort: number) {
    this.targetPort = targetPort;
  }

  static async start(targetPort: number): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(targetPort);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Passes nothing on, in either direction, and keeps the connections open. */
  freeze(): void {
    this.#isFrozen = true;
    for (const { client, server } of this.#links) {
      client.pause();
      server.pause();
    }
  }

  thaw(): void {
    this.#isFrozen = false;
    for (const { client, server } of this.#links) {
      client.resume();
      server.resume();
    }
  }

  /** Passes on what was held. */
  release(): void {
    this.decide = () => "pass";
    for (const link of this.#links) {
      for (const bytes of link.held.splice(0)) {
        link.server.write(bytes);
      }
    }
  }

  /**
   * Ends all connections of clients, and those of the server unless they are to linger. Those that wait for an answer in
   * vain get `last` before.
   */
  cut({ linger = false, last }: { readonly linger?: boolean; readonly last?: Buffer } = {}): void {
    for (const { client, server, isMute } of this.#links) {
      if (isMute && last !== undefined) {
        client.end(last);
      } else {
        client.destroy();
      }
      if (!linger) {
        server.destroy();
      }
    }
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  #serve(client: Socket): void {
    const server = connect(this.targetPort, "127.0.0.1");
    const link = { client, server, held: [] as Buffer[], isMute: false };
    this.#links.add(link);
    if (this.#isFrozen) {
      client.pause();
      server.pause();
    }
    client.on("data", (bytes: Buffer) => {
      const handling = link.held.length > 0 ? "hold" : this.decide(bytes);
      link.isMute ||= handling === "mute";
      if (handling === "hold") {
        link.held.push(bytes);
      } else {
        server.write(bytes);
      }
    });
    server.on("data", (bytes) => {
      if (!link.isMute) {
        client.write(bytes);
      }
    });
    client.on("error", () => {});
    server.on("error", () => {});
    // A link whose client has gone still has what was held.
    client.on("close", () => {
      if (link.held.length === 0) {
        server.destroy();
      }
    });
    server.on("close", () => {
      client.destroy();
      this.#links.delete(link);
    });
  }
}
