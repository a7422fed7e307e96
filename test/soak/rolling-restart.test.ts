import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, expect, it } from "vitest";
import { createPetstoreClient, type PetstoreClient } from "../../client/src/index.ts";
import { until } from "../support/deadline.ts";
import { amount, isLong } from "../support/long.ts";
import { serve, startServer, type TestServer } from "../support/server.ts";

const restarts = amount(3, 30);
const clients = 8;

/** The default suffices where the machine does nothing else: where it does, a server may take seconds to start. */
const retry = isLong ? {} : { maxAttempts: 12 };

let server: TestServer;

afterAll(() => server?.stop());

it(`shows no error to clients that try again, over ${restarts} restarts under load`, {
  timeout: 30_000 + restarts * 10_000,
}, async ({ annotate }) => {
  server = await startServer();
  const { key } = await server.store.mintQuota(1_000_000_000, 1_000_000_000);
  const { port, origin: baseUrl } = server;
  const load = new UpdateLoad(() =>
    createPetstoreClient({ baseUrl, apiKey: key, transport: (options) => createGrpcTransport(options), retry }),
  );
  for (let restart = 0; restart < restarts; restart += 1) {
    // A restart comes when all are at work again: in a storm of restarts nobody could be.
    const enough = load.calls.map((calls) => calls + 20);
    await until(async () => load.calls.every((calls, client) => calls >= (enough[client] ?? 0)), 20_000);
    expect(await server.end()).toBe(0);
    server = await serve(server.store, { flags: ["--port", String(port)] });
  }
  await load.stop();
  expect(load.errors).toEqual([]);
  await annotate(`${load.calls.reduce((sum, calls) => sum + calls)} calls`);
});

/** Clients that update a pet each, and read what they have written. */
class UpdateLoad {
  readonly errors: unknown[] = [];
  /** Of each client, how many have succeeded. */
  readonly calls: number[] = Array(clients).fill(0);
  #isOn = true;
  readonly #clients: Promise<unknown>;

  constructor(connect: () => PetstoreClient) {
    this.#clients = Promise.all(this.calls.map((_, client) => this.#run(connect(), client)));
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#clients;
  }

  async #run({ inventory }: PetstoreClient, client: number): Promise<void> {
    let quantity = 0n;
    while (this.#isOn) {
      quantity += 1n;
      try {
        const { item } = await inventory.updateInventory({ petId: BigInt(client), update: { quantity } });
        expect(item?.quantity).toBe(quantity);
        this.calls[client] = (this.calls[client] ?? 0) + 1;
      } catch (error) {
        this.errors.push(error);
      }
    }
  }
}
