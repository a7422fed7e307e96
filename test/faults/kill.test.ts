import { afterAll, describe, expect, it } from "vitest";
import { type Protocol, protocols } from "../support/clients/protocols.ts";
import { expectSuccess } from "../support/expectations.ts";
import { pets } from "../support/fixture.ts";
import { type MintedKey, serve, startServer, type TestServer } from "../support/server.ts";

const rounds = 20;

/** Clients that update at the same time, each a pet of its own. */
const ways = ["REST, HTTP/1.1", "REST, HTTP/2", "Connect JSON, HTTP/1.1", "gRPC", "gRPC-Web, HTTP/1.1"];
const clientsPerWay = 2;

/** The updates of one pet: each sets a higher stock count than the one before. */
class Counter {
  readonly petId: bigint;
  readonly protocol: Protocol;
  sent: bigint;
  acknowledged: bigint;

  constructor(petId: bigint, protocol: Protocol) {
    this.petId = petId;
    this.protocol = protocol;
    this.sent = 0n;
    this.acknowledged = 0n;
  }

  /** Updates until the server is gone. `onAcknowledged` is told of each update that was answered with success. */
  async run(server: TestServer, key: string, onAcknowledged: () => void): Promise<void> {
    for (;;) {
      this.sent += 1n;
      const input = { petId: this.petId, update: { quantity: this.sent } };
      const outcome = await server.call(this.protocol, "updateInventory", input, { key }).catch(() => undefined);
      if (outcome?.message === undefined) {
        return;
      }
      this.acknowledged = this.sent;
      onAcknowledged();
    }
  }
}

describe("kill -9 under load", () => {
  let server: TestServer;

  afterAll(() => server?.stop());

  it(`loses no acknowledged update, ${rounds} times over`, { timeout: 180_000 }, async () => {
    server = await startServer();
    const key = await server.store.mintQuota(1_000_000_000, 1_000_000_000);
    const counters = createCounters();
    let acknowledged = 0;
    for (let round = 0; round < rounds; round++) {
      await killAfter(20 + Math.floor(Math.random() * 300), server, key, counters, () => {
        acknowledged += 1;
      });
      server = await serve(server.store);
      await expectNothingLost(server, key, counters);
    }
    expect(acknowledged).toBeGreaterThan(rounds * 20);
  });
});

function createCounters(): Counter[] {
  const chosen = ways.map((way) => protocols.find(({ name }) => name === way) as Protocol);
  const clients = chosen.flatMap((protocol) => Array.from({ length: clientsPerWay }, () => protocol));
  return clients.map((protocol, index) => new Counter(pets[index]?.id as bigint, protocol));
}

/** Has all counters run, and kills the server after so many updates. */
async function killAfter(
  updates: number,
  server: TestServer,
  { key }: MintedKey,
  counters: readonly Counter[],
  onAcknowledged: () => void,
): Promise<void> {
  let left = updates;
  const running = counters.map((counter) =>
    counter.run(server, key, () => {
      onAcknowledged();
      left -= 1;
      if (left === 0) {
        process.kill(server.pid, "SIGKILL");
      }
    }),
  );
  await Promise.all(running);
  await server.end("SIGKILL");
}

/** Of each pet the last acknowledged update is there, or a later one that was sent. */
async function expectNothingLost(server: TestServer, { key }: MintedKey, counters: readonly Counter[]): Promise<void> {
  const outcome = await server.call(protocols[0] as Protocol, "listInventory", {}, { key });
  const stock = new Map(expectSuccess(outcome).items.map(({ petId, quantity }) => [petId, quantity]));
  for (const counter of counters) {
    const quantity = stock.get(counter.petId) as bigint;
    expect(quantity, `pet ${counter.petId}`).toBeGreaterThanOrEqual(counter.acknowledged);
    expect(quantity, `pet ${counter.petId}`).toBeLessThanOrEqual(counter.sent);
    counter.sent = quantity;
    counter.acknowledged = quantity;
  }
}
