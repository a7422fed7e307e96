import { setTimeout } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { startServer } from "../support/server.ts";
import { type Watch, type WatchProtocol, watchProtocols } from "../support/watch.ts";
import { StockServer } from "./stock/stock-server.ts";

const stock = new StockServer();

const open: Watch[] = [];

afterEach(() => {
  for (const watch of open.splice(0)) {
    watch.stop();
  }
});

/** Opens a stream by every protocol. */
async function watchByAll(key: string, origin = stock.server.origin): Promise<Map<WatchProtocol, Watch>> {
  const after = (await stock.newestChange())?.cursor as string;
  const authorization = `Bearer ${key}`;
  const watches = watchProtocols.map((protocol) => {
    const request = origin === stock.server.origin ? { after } : {};
    const watch = protocol.open({ origin }, request, { authorization });
    open.push(watch);
    return [protocol, watch] as const;
  });
  await Promise.all(watches.map(([, { headers }]) => headers));
  return new Map(watches);
}

async function codesOf(watches: Map<WatchProtocol, Watch>): Promise<(string | undefined)[]> {
  return await Promise.all([...watches.values()].map(async ({ ended }) => (await ended)?.code));
}

const allWith = (code: string) => watchProtocols.map(() => code);

it("every 15 s it tells how far it has come, whatever the filter", { timeout: 40_000 }, async () => {
  const authorization = `Bearer ${stock.key.key}`;
  const after = (await stock.newestChange())?.cursor as string;
  const openedAtMs = performance.now();
  const watches = watchProtocols.map((protocol) =>
    protocol.open(stock.server, { after, petId: [6n] }, { authorization }),
  );
  open.push(...watches);
  await Promise.all(watches.map(({ headers }) => headers));
  await stock.set(7n, 3n);
  const now = (await stock.newestChange())?.cursor;
  await until(async () => watches.every(({ told }) => told.length > 0), 17_000);
  expect(performance.now() - openedAtMs).toBeGreaterThan(14_000);
  for (const [index, { told }] of watches.entries()) {
    const isLines = watchProtocols[index]?.name.startsWith("REST lines") ?? false;
    expect(told).toEqual([{ cursor: isLines ? "" : now }]);
  }
});

it("it ends within a second of the key's expiry, and of the loss of its scope", async () => {
  const expiring = await stock.server.store.mintKey("--plan", "business", "--expires-in", "3s");
  const expiresAtMs = Date.now() + 3_000;
  const narrowed = await stock.server.store.mintKey("--plan", "business");
  const ofExpiring = await watchByAll(expiring.key);
  const ofNarrowed = await watchByAll(narrowed.key);
  await stock.server.store.run("keys", "update", narrowed.id, "--scope", "pets:read");
  const narrowedAtMs = Date.now();
  expect(await codesOf(ofNarrowed)).toEqual(allWith("SCOPE_MISSING"));
  expect(Date.now() - narrowedAtMs).toBeLessThan(1_000);
  expect(await codesOf(ofExpiring)).toEqual(allWith("API_KEY_EXPIRED"));
  expect(Date.now() - expiresAtMs).toBeLessThan(1_000);
  for (const [{ name }, { headers, metadata }] of ofExpiring) {
    const isRpc = !name.startsWith("REST");
    const begun = await headers;
    const repeated = ["x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit"];
    for (const header of isRpc ? repeated : []) {
      const value = begun.get(header);
      expect(value).toMatch(/\S/);
      // Connect's clients join what stands in the trailers and in the headers.
      expect(metadata.get(header), name).toBe(name === "gRPC" ? value : `${value}, ${value}`);
    }
    expect(metadata.has("www-authenticate"), name).toBe(isRpc);
  }
});

it("it ends when the server stops, which tells clients to come back", async () => {
  const server = await startServer();
  const { key } = await server.store.mintKey("--plan", "business");
  const watches = await watchByAll(key, server.origin);
  const stoppedAtMs = performance.now();
  const exit = server.end();
  // Where the connection ends at the same moment, grpc-js tells that instead of the status it was sent.
  const failures = await Promise.all([...watches.values()].map(({ ended }) => ended));
  expect(failures.map((failure) => failure?.code ?? failure?.canonical?.toUpperCase())).toEqual(allWith("UNAVAILABLE"));
  // Long before the grace for running calls is over, which is 10 s.
  expect(performance.now() - stoppedAtMs).toBeLessThan(5_000);
  const [events] = [...watches.values()] as [Watch];
  // The reading of events gives back the field `retry` as the message.
  expect((await events.ended)?.message).toBe("1000");
  expect(await exit).toBe(0);
  expect(server.log).not.toContain('"level":40');
  expect(server.log).not.toContain('"level":50');
  server.store.remove();
});

it("a reader that stops reading delays nobody, and misses nothing when it comes back", {
  timeout: 180_000,
}, async () => {
  const watches = await watchByAll(stock.key.key);
  const slow = [...watches].filter(([{ name }]) => !/Connect|gRPC-Web/.test(name)).map(([, watch]) => watch);
  for (const watch of slow) {
    watch.pause();
  }
  // Some 20 MB of events: many times what sockets hold.
  const batch = Array.from({ length: 1_000 }, (_, index) => ({
    petId: 7n,
    quantity: BigInt(index),
    reference: "r".repeat(255),
  }));
  for (let round = 0; round < 40; round += 1) {
    await stock.get(rest, "batchUpdateInventory", { changes: batch });
  }
  const others = [...watches.values()].filter((watch) => !slow.includes(watch));
  const count = ({ told }: Watch) => told.filter(({ revision }) => revision !== undefined).length;
  await until(async () => others.every((watch) => count(watch) === 40_000), 60_000);
  for (const watch of slow) {
    expect(count(watch)).toBeLessThan(40_000);
    watch.resume();
  }
  await until(async () => slow.every((watch) => count(watch) === 40_000), 60_000);
  for (const { told } of watches.values()) {
    const revisions = told.flatMap(({ revision }) => revision ?? []);
    const [first = 0n] = revisions;
    expect(revisions.every((revision, index) => revision === first + BigInt(index))).toBe(true);
  }
});

it("a stream whose client has gone leaves its place", async () => {
  const key = await stock.server.store.mintKey("--plan", "business");
  for (let round = 0; round < 3; round += 1) {
    const watches = await watchByAll(key.key);
    for (const watch of [...watches.values(), ...(await watchByAll(key.key)).values()]) {
      watch.stop();
    }
    await setTimeout(50);
  }
  const again = [...(await watchByAll(key.key)).values(), ...(await watchByAll(key.key)).values()];
  const codes = await Promise.all(again.map(({ ended }) => Promise.race([ended, setTimeout(200)])));
  expect(codes.flatMap((failure) => failure?.code ?? [])).toEqual([]);
});
