import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectFailure, expectSuccess } from "../support/expectations.ts";
import { importFixture } from "../support/fixture.ts";
import { amount } from "../support/long.ts";
import { postgresPrograms } from "../support/postgres/programs.ts";
import { serveBehindProxy } from "../support/postgres/proxied-server.ts";
import { Random } from "../support/random.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";

const kills = amount(5, 100);

/** A delivery as the receiver got it. */
interface Received {
  readonly id: string;
  readonly revisions: readonly number[];
}

const received: Received[] = [];
const random = new Random(Date.now());

/** A receiver that fails now and then, and is slow. */
const receiver = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk: Buffer) => {
    body += chunk.toString();
  });
  request.on("end", () => {
    const { changes } = JSON.parse(body).data;
    const revisions = changes.map(({ revision }: { revision: number }) => revision);
    received.push({ id: request.headers["webhook-id"] as string, revisions });
    void setTimeout(random.below(20)).then(() => response.writeHead(204).end());
  });
});

const store = new TestStore();
let server: TestServer;
let url: string;

beforeAll(async () => {
  await importFixture(store.db);
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
});

afterAll(async () => {
  await server?.stop();
  receiver.close();
});

it(`${kills} kills in the middle of deliveries lose none, and a delivery that comes again has its id and changes`, {
  timeout: amount(60_000, 900_000),
}, async () => {
  const start = async () => serve(store, { flags: ["--allow-private"] });
  server = await start();
  const { key } = await store.mintQuota(1_000_000_000, 1_000_000_000);
  await store.run("webhooks", "create", "--url", url, "--from", "start");
  const head = async () =>
    Number(
      (await server.call(rest, "listStockChanges", { newestFirst: true, pageSize: 1 }, { key })).message?.changes[0]
        ?.revision,
    );
  for (let kill = 1; kill <= kills; kill += 1) {
    const enough = received.length + 1 + random.below(10);
    while (received.length < enough) {
      await server.call(rest, "updateInventory", { petId: 7n, update: { quantity: BigInt(kill) } }, { key });
    }
    await server.end("SIGKILL");
    server = await start();
  }
  const last = await head();
  await until(async () => received.at(-1)?.revisions.at(-1) === last, 20_000);

  const byId = Map.groupBy(received, ({ id }) => id);
  for (const again of byId.values()) {
    expect(new Set(again.map(({ revisions }) => revisions.join(" "))).size).toBe(1);
  }
  const inOrder = [...byId.values()].flatMap(([first]) => first?.revisions ?? []);
  expect(inOrder).toEqual(Array.from({ length: last }, (_, index) => index + 1));
  // What comes again comes before anything newer.
  const repeats = received.filter(({ id }, index) => received.findIndex((each) => each.id === id) < index);
  expect(repeats.every((each) => received[received.indexOf(each) - 1]?.id === each.id)).toBe(true);
});

it.skipIf(postgresPrograms === undefined)(
  "a change whose answer PostgreSQL has lost is delivered, though none follows",
  async () => {
    const { server: sole, proxy, store: database } = await serveBehindProxy("--allow-private");
    const { key } = await database.mintKey();
    await database.run("webhooks", "create", "--url", url);
    const set = (headers: Readonly<Record<string, string>>) =>
      sole.call(rest, "updateInventory", { petId: 7n, update: { quantity: 1n } }, { key, headers });
    const before = received.length;
    expectSuccess(await set({}));
    await until(async () => received.length === before + 1, 5_000);

    proxy.decide = (bytes) => (bytes.includes("INSERT INTO idempotency_records") ? "mute" : "pass");
    const headers = { "idempotency-key": "once" };
    // The server gives the connection up by itself. If all were cut, it would ask the database about everything.
    expectFailure(await set(headers), "UNAVAILABLE");
    expect((await set(headers)).headers.get("idempotency-replayed")).toBe("true");
    await until(async () => received.length === before + 2, 2_000);
  },
);
