import { afterEach, describe, expect, it } from "vitest";
import { issueCursor } from "../../src/domain/history.ts";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectFailure } from "../support/expectations.ts";
import { createHttp1Client } from "../support/http.ts";
import type { MintedKey } from "../support/server.ts";
import { type Watch, type WatchProtocol, type WatchRequest, watchPath, watchProtocols } from "../support/watch.ts";
import { StockServer } from "./stock/stock-server.ts";

const stock = new StockServer();

const open: Watch[] = [];

afterEach(() => {
  for (const watch of open.splice(0)) {
    watch.stop();
  }
});

function watch(
  protocol: WatchProtocol,
  request: WatchRequest,
  { key = stock.key, headers = {} }: { key?: MintedKey; headers?: Record<string, string> } = {},
): Watch {
  const opened = protocol.open(stock.server, request, { authorization: `Bearer ${key.key}`, ...headers });
  open.push(opened);
  return opened;
}

/** The changes that have been told, without heartbeats. */
function changesOf({ told }: Watch) {
  return told.filter(({ revision }) => revision !== undefined);
}

async function expectChanges(opened: Watch, count: number): Promise<void> {
  await until(async () => changesOf(opened).length >= count, 5_000);
}

async function head(): Promise<string> {
  return (await stock.newestChange())?.cursor as string;
}

const [events] = watchProtocols as [WatchProtocol];

describe.each(watchProtocols)("over $name", (protocol) => {
  it("a stream tells what was, and then what comes, in order", async () => {
    await stock.set(7n, 10n);
    const after = await head();
    await stock.set(7n, 9n);
    const opened = watch(protocol, { after });
    await expectChanges(opened, 1);
    await stock.set(6n, 1n);
    await stock.set(7n, 8n);
    await expectChanges(opened, 3);
    const { changes } = await stock.get(rest, "listStockChanges", { after });
    expect(changesOf(opened)).toMatchObject(
      changes.map(({ cursor, revision, petId, before, after: behind }) => ({
        cursor,
        revision,
        petId,
        before,
        after: behind,
        kind: "set",
      })),
    );
  });

  it("without a cursor it begins with the oldest change", async () => {
    const opened = watch(protocol, {});
    await expectChanges(opened, 2);
    expect(changesOf(opened)[0]).toMatchObject({ revision: 1n, kind: "import" });
  });

  it("its headers come at once, with the limits, and it is counted once", async () => {
    const key = await stock.server.store.mintQuota(100, 1_000);
    const opened = watch(protocol, { after: await head() }, { key, headers: { "x-request-id": "watch-1" } });
    const headers = await opened.headers;
    expect([headers.get("x-ratelimit-remaining"), headers.get("x-request-id")]).toEqual(["99", "watch-1"]);
    await stock.set(7n, 1n);
    await expectChanges(opened, 1);
    const limits = await stock.server.call(rest, "getLimits", {}, { key: key.key });
    expect(limits.headers.get("x-ratelimit-remaining")).toBe("99");
  });

  it("filters select pets and crossings", async () => {
    await stock.set(7n, 10n);
    await stock.set(6n, 10n);
    const after = await head();
    const ofPet = watch(protocol, { after, petId: [7n] });
    const crossing = watch(protocol, { after, crossing: 5n });
    await Promise.all([ofPet.headers, crossing.headers]);
    for (const [petId, quantity] of [
      [6n, 6n],
      [7n, 5n],
      [6n, 5n],
      [7n, 4n],
    ] as const) {
      await stock.set(petId, quantity);
    }
    await Promise.all([expectChanges(ofPet, 2), expectChanges(crossing, 2)]);
    expect(changesOf(ofPet).map(({ petId, after: quantity }) => [petId, quantity])).toEqual([
      [7n, 5n],
      [7n, 4n],
    ]);
    expect(changesOf(crossing).map(({ petId, after: quantity }) => [petId, quantity])).toEqual([
      [7n, 5n],
      [6n, 5n],
    ]);
    const again = watch(protocol, { after, crossing: 5n });
    await expectChanges(again, 2);
    expect(changesOf(again)).toEqual(changesOf(crossing));
  });

  it("a reader who goes on after its last cursor misses nothing, and sees nothing twice", async () => {
    const after = await head();
    const first = watch(protocol, { after });
    await stock.set(7n, 1n);
    await expectChanges(first, 1);
    first.stop();
    await stock.set(7n, 2n);
    const second = watch(protocol, { after: changesOf(first).at(-1)?.cursor });
    await stock.set(7n, 3n);
    await expectChanges(second, 2);
    const revisions = [...changesOf(first), ...changesOf(second)].map(({ revision = 0n }) => revision);
    expect(revisions).toEqual(revisions.map((_, index) => (revisions[0] as bigint) + BigInt(index)));
  });

  it("changes by every way are told, of commands too", async () => {
    const opened = watch(protocol, { after: await head(), petId: [7n] });
    await opened.headers;
    await stock.get(rest, "adjustInventory", { petId: 7n, adjustment: { delta: 2n } });
    await stock.get(rest, "batchUpdateInventory", { changes: [{ petId: 7n, quantity: 9n }] });
    const { hold } = await stock.get(rest, "createHold", { petId: 7n, quantity: 1n });
    await stock.get(rest, "commitHold", { holdId: hold?.holdId as string });
    await stock.importQuantity(7n, 4n);
    await expectChanges(opened, 4);
    expect(changesOf(opened).map(({ kind }) => kind)).toEqual(["adjust", "set", "hold", "import"]);
  });

  it.each<[problem: string, request: WatchRequest, code: "INVALID_REQUEST" | "PET_NOT_FOUND"]>([
    ["what is no cursor", { after: "garbage" }, "INVALID_REQUEST"],
    ["more than 100 pets", { petId: Array.from({ length: 101 }, () => 7n) }, "INVALID_REQUEST"],
    ["an unknown pet", { petId: [7n, 12_345n] }, "PET_NOT_FOUND"],
  ])("%s is refused before it begins", async (_problem, request, code) => {
    const opened = watch(protocol, request);
    const failure = await opened.ended;
    expectFailure({ failure: failure as NonNullable<typeof failure>, headers: await opened.headers }, code);
  });

  it("a cursor of another history has expired", async () => {
    const failure = await watch(protocol, { after: issueCursor("0123456789ab", 1n) }).ended;
    expect(failure?.code).toBe("CURSOR_EXPIRED");
  });

  it("a key has 32 streams at most; a further one is refused, and not counted", async () => {
    const key = await stock.server.store.mintQuota(100, 1_000);
    const after = await head();
    const all = Array.from({ length: 32 }, () => watch(protocol, { after }, { key }));
    await Promise.all(all.map(({ headers }) => headers));
    const further = watch(protocol, { after }, { key });
    expectFailure({ failure: (await further.ended) as never, headers: await further.headers }, "TOO_MANY_STREAMS");
    expect((await further.headers).get("x-ratelimit-remaining")).toBe("68");
    expect((await further.headers).get("retry-after")).toBeNull();
    all[0]?.stop();
    await until(async () => {
      const next = watch(protocol, { after }, { key });
      return (await Promise.race([next.ended, next.headers]))?.constructor === Headers;
    }, 2_000);
  });

  it("it ends with its key, within a second", async () => {
    const key = await stock.server.store.mintQuota(100, 1_000);
    const opened = watch(protocol, { after: await head() }, { key });
    await opened.headers;
    await stock.server.store.run("keys", "revoke", key.id);
    const revokedAtMs = performance.now();
    expect((await opened.ended)?.code).toBe("API_KEY_REVOKED");
    expect(performance.now() - revokedAtMs).toBeLessThan(1_000);
  });
});

describe("over REST", () => {
  it("Last-Event-ID wins over the query", async () => {
    await stock.set(7n, 1n);
    const id = await head();
    await stock.set(7n, 2n);
    const opened = watch(events, { after: "garbage" }, { headers: { "last-event-id": id } });
    await expectChanges(opened, 1);
    expect(changesOf(opened)[0]).toMatchObject({ after: 2n });
  });

  it("a query that cannot be read is refused", async () => {
    const http = createHttp1Client(stock.server);
    const headers = { authorization: `Bearer ${stock.key.key}` };
    const send = (path: string, more = {}, method = "GET") =>
      http.send({ method, path, headers: { ...headers, ...more } });
    expect((await send("/v1/inventory/changes:watch?crossing=abc")).status).toBe(400);
    expect((await send(watchPath({}), { accept: "image/png" })).status).toBe(406);
    expect((await send(watchPath({}), { accept: "application/json" })).status).toBe(406);
    const headed = await send(watchPath({}), {}, "HEAD");
    expect([headed.status, headed.headers.get("allow")]).toEqual([405, "GET, OPTIONS"]);
    expect((await send(watchPath({}), {}, "OPTIONS")).headers.get("allow")).toBe("GET, OPTIONS");
    expect((await send(watchPath({}), {}, "POST")).status).toBe(405);
    http.close();
  });
});
