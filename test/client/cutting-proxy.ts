import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";

/** How a connection is lost: with a reset, with an end in mid-answer, or without a sign. */
export const cuts = ["reset", "end", "silence"] as const;

export type Cut = (typeof cuts)[number];

/** Stands between clients and servers at an address that stays, and cuts connections. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #pairs = new Set<{ readonly client: Socket; readonly upstream: Socket }>();
  readonly #port: () => number;
  private constructor(port: () => number) {
    this.#port = port;
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  /** `port` is that of the server of the moment, on loopback. */
  static async start(port: () => number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(port);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Loses all connections of the moment. */
  cut(how: Cut): void {
    for (const { client, upstream } of this.#pairs) {
      if (how === "silence") {
        upstream.unpipe(client);
        upstream.resume();
        client.unpipe(upstream);
        client.resume();
        client.once("end", () => client.destroy());
      } else {
        upstream.destroy();
        if (how === "reset") {
          client.resetAndDestroy();
        } else {
          client.end();
        }
      }
    }
  }

  stop(): void {
    for (const { client, upstream } of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
    this.#server.close();
  }

  #accept(client: Socket): void {
    const upstream = connect(this.#port(), "127.0.0.1");
    const pair = { client, upstream };
    this.#pairs.add(pair);
    client.pipe(upstream);
    upstream.pipe(client);
    client.on("error", () => upstream.destroy());
    upstream.on("error", () => client.destroy());
    client.on("close", () => {
      this.#pairs.delete(pair);
      upstream.destroy();
    });
  }
}
