import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import {
  type InventoryMirrorOptions,
  type MirrorChange,
  PetStatus,
  reasonOf,
  StockChangeKind,
} from "../../client/src/index.ts";
import { failure, overLimit } from "./failures.ts";
import { cursorOf, cut, entry, type ListScript, type Script, ScriptedFeed, type StockList } from "./scripted-feed.ts";

const down = failure(Code.Unavailable);
const expired = failure(Code.OutOfRange, { reason: "CURSOR_EXPIRED" });
const revoked = failure(Code.Unauthenticated, { reason: "API_KEY_REVOKED" });

/** Streams that have nothing more to tell stay open. */
const beforeStallMs = 44_000;

const firstList: StockList = { items: [entry(7n, 10n), entry(8n, 20n, PetStatus.SOLD)], cursor: cursorOf(1) };

/** A mirror of a scripted service, and what it has told. */
async function mirror(
  scripts: readonly Script[],
  lists: readonly ListScript[] = [],
  options: InventoryMirrorOptions = {},
) {
  const feed = new ScriptedFeed(scripts, { lists: [firstList, ...lists], stopsAt: beforeStallMs });
  const changes: MirrorChange[] = [];
  const events: unknown[] = [];
  const mirrored = await feed.client.mirrorInventory({
    onChange: (change) => changes.push(change),
    onRelist: (reason) => events.push(reason),
    onLost: (error) => events.push(error),
    ...options,
  });
  return { feed, mirrored, changes, events };
}

describe("a mirror", () => {
  it("has the stock when it is there, and follows it from the list's cursor", async () => {
    const { feed, mirrored, changes } = await mirror([[{ revision: 2, petId: 8n, after: 19n }]]);
    expect([...mirrored]).toEqual([
      [7n, entry(7n, 10n)],
      [8n, entry(8n, 20n, PetStatus.SOLD)],
    ]);
    expect(mirrored.cursor).toBe(cursorOf(1));
    const former = mirrored.get(8n);
    await expect.poll(() => changes).toHaveLength(1);
    expect(feed.requests[0]?.after).toBe(cursorOf(1));
    expect(mirrored.get(8n)).toEqual(entry(8n, 19n, PetStatus.SOLD));
    expect(former).toEqual(entry(8n, 20n, PetStatus.SOLD));
    expect(changes).toMatchObject([{ petId: 8n, before: former, after: mirrored.get(8n), change: { revision: 2n } }]);
    expect(mirrored.cursor).toBe(cursorOf(2));
    await mirrored.close();
  });

  it("is a map", async () => {
    const { mirrored } = await mirror([]);
    const map = new Map(mirrored);
    expect([mirrored.size, mirrored.has(7n), mirrored.has(9n), mirrored.get(9n)]).toEqual([2, true, false, undefined]);
    expect([...mirrored.keys()]).toEqual([...map.keys()]);
    expect([...mirrored.values()]).toEqual([...map.values()]);
    expect([...mirrored.entries()]).toEqual([...map.entries()]);
    const visited: unknown[] = [];
    mirrored.forEach(function (this: unknown, ...visit) {
      visited.push([this, ...visit]);
    }, "self");
    expect(visited).toEqual([...map].map(([petId, item]) => ["self", item, petId, mirrored]));
    await mirrored.close();
  });

  it.each([StockChangeKind.SET, StockChangeKind.ADJUST, StockChangeKind.HOLD])(
    "follows changes of kind %d over lost connections, without a new list",
    async (kind) => {
      const { feed, mirrored, changes } = await mirror([
        [{ revision: 2, after: 9n, kind }, cut],
        [{ revision: 3, after: 8n, kind }],
      ]);
      await expect.poll(() => mirrored.get(7n)?.quantity).toBe(8n);
      expect(changes.map(({ before, after }) => [before?.quantity, after?.quantity])).toEqual([
        [10n, 9n],
        [9n, 8n],
      ]);
      expect(feed.lists).toBe(1);
      await mirrored.close();
    },
  );

  it("knows how far it has come without changes, too", async () => {
    const { mirrored } = await mirror([[{ revision: 2, after: 9n }, { heartbeat: cursorOf(9) }]]);
    await expect.poll(() => mirrored.cursor).toBe(cursorOf(9));
    await mirrored.close();
  });
});

describe("a mirror lists anew", () => {
  const secondList: StockList = { items: [entry(7n, 10n, PetStatus.SOLD), entry(9n, 3n)], cursor: cursorOf(5) };

  const differences = [
    { petId: 7n, before: entry(7n, 10n), after: entry(7n, 10n, PetStatus.SOLD), change: undefined },
    { petId: 9n, before: undefined, after: entry(9n, 3n), change: undefined },
    { petId: 8n, before: entry(8n, 20n, PetStatus.SOLD), after: undefined, change: undefined },
  ];

  it.each<[title: string, reason: string, script: Script]>([
    ["after an import, which may change the status", "imported", [{ revision: 2, kind: StockChangeKind.IMPORT }]],
    ["for a pet that it does not know", "imported", [{ revision: 2, petId: 9n }]],
    ["for a change of a kind that it does not know", "imported", [{ revision: 2, kind: 99 as StockChangeKind }]],
    ["when its cursor has expired", "expired", [expired]],
  ])("%s, and tells what is different", async (_title, reason, script) => {
    const { feed, mirrored, changes, events } = await mirror([script], [secondList]);
    await expect.poll(() => changes).toHaveLength(3);
    expect(events).toEqual([reason]);
    expect(changes).toEqual(differences);
    expect([...mirrored.values()]).toEqual([entry(7n, 10n, PetStatus.SOLD), entry(9n, 3n)]);
    await expect.poll(() => feed.requests.map(({ after }) => after)).toEqual([cursorOf(1), cursorOf(5)]);
    expect(feed.ended).toEqual([true, false]);
    await mirrored.close();
  });

  it("and waits for a place among the streams, as it had one before", async () => {
    const crowded = failure(Code.ResourceExhausted, { reason: "TOO_MANY_STREAMS" });
    const { mirrored } = await mirror(
      [[{ revision: 2, kind: StockChangeKind.IMPORT }], [crowded], [{ revision: 6, after: 1n }]],
      [secondList],
    );
    await expect.poll(() => mirrored.get(7n)?.quantity).toBe(1n);
    await mirrored.close();
  });

  it("and its cursor stays with its entries while the list is under way", async () => {
    const { promise, resolve } = Promise.withResolvers<StockList>();
    const script = [
      { revision: 2, after: 9n },
      { revision: 3, kind: StockChangeKind.IMPORT },
    ];
    const { feed, mirrored, changes } = await mirror([script], [promise]);
    await expect.poll(() => feed.lists).toBe(2);
    expect([mirrored.get(7n)?.quantity, mirrored.cursor]).toEqual([9n, cursorOf(2)]);
    resolve(secondList);
    await expect.poll(() => changes).toHaveLength(1 + 3);
    expect([mirrored.get(9n)?.quantity, mirrored.cursor]).toEqual([3n, cursorOf(5)]);
    await mirrored.close();
  });

  it("however long the list cannot be had", async () => {
    const { mirrored, changes, events } = await mirror([[expired]], [...Array(20).fill(down), secondList]);
    await expect.poll(() => changes).toEqual(differences);
    // Of the 21 attempts each 6 are one call.
    expect(events).toHaveLength(3 + 1);
    expect(events.at(-1)).toBe("expired");
    await mirrored.close();
  });
});

describe("a mirror ends", () => {
  it("before it begins, where the first list cannot be had", async () => {
    const feed = new ScriptedFeed([], { lists: [revoked] });
    await expect(feed.client.mirrorInventory()).rejects.toSatisfy((error) => reasonOf(error) === "API_KEY_REVOKED");
    expect(feed.attempts).toBe(0);
  });

  it.each<[title: string, script: Script, lists: ListScript[], reason: string]>([
    ["what ends its watch", [{ revision: 2, after: 9n }, revoked], [], "API_KEY_REVOKED"],
    ["limits that are too long to wait for", [{ revision: 2, after: 9n }, overLimit(3_600)], [], "RATE_LIMIT_EXCEEDED"],
    ["what a new list fails with", [{ revision: 2, after: 9n }, expired], [revoked], "API_KEY_REVOKED"],
  ])("with %s, and keeps what it had", async (_title, script, lists, reason) => {
    const { mirrored } = await mirror([script], lists);
    await expect(mirrored.closed).rejects.toSatisfy((error) => reasonOf(error) === reason);
    expect(mirrored.get(7n)?.quantity).toBe(9n);
    await mirrored.close();
  });

  it("with what the list after an import fails with, and its cursor stays with its entries", async () => {
    const script = [
      { revision: 2, after: 9n },
      { revision: 3, kind: StockChangeKind.IMPORT },
    ];
    const { mirrored } = await mirror([script], [revoked]);
    await expect(mirrored.closed).rejects.toSatisfy((error) => reasonOf(error) === "API_KEY_REVOKED");
    expect([mirrored.get(7n)?.quantity, mirrored.cursor]).toEqual([9n, cursorOf(2)]);
  });

  it("with what onChange throws", async () => {
    const mistake = new Error("my own mistake");
    const onChange = () => {
      throw mistake;
    };
    const { feed, mirrored } = await mirror([[2]], [], { onChange });
    await expect(mirrored.closed).rejects.toBe(mistake);
    await expect.poll(() => feed.ended).toEqual([true]);
  });

  it("when it is closed, with its connection", async () => {
    const { feed, mirrored } = await mirror([["silence"]]);
    await expect.poll(() => feed.ended).toEqual([false]);
    await mirrored.close();
    await expect(mirrored.closed).resolves.toBeUndefined();
    await expect.poll(() => feed.ended).toEqual([true]);
    expect(mirrored.size).toBe(2);
  });

  it("when its signal aborts", async () => {
    const controller = new AbortController();
    const { feed, mirrored } = await mirror([["silence"]], [], { signal: controller.signal });
    controller.abort();
    await expect(mirrored.closed).resolves.toBeUndefined();
    await expect.poll(() => feed.ended.at(0) ?? true).toBe(true);
    const late = feed.client.mirrorInventory({ signal: controller.signal });
    await expect(late).rejects.toMatchObject({ code: Code.Canceled });
  });
});
