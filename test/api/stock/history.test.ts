import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { StockChangeKind } from "../../../gen/petstore/v1/stock_change_pb.ts";
import { issueCursor } from "../../../src/domain/history.ts";
import { type Protocol, protocols, rest } from "../../support/clients/protocols.ts";
import { nextLink } from "../../support/clients/rest.ts";
import type { ErrorCode } from "../../support/error-codes.ts";
import { expectErrorBody, expectFailure } from "../../support/expectations.ts";
import { createHttp1Client } from "../../support/http.ts";
import type { Input } from "../../support/operations.ts";
import { StockServer } from "./stock-server.ts";

const stock = new StockServer();

type Query = Input<"listStockChanges">;

async function list(protocol: Protocol, query: Query) {
  const { changes, nextPageToken } = await stock.get(protocol, "listStockChanges", query);
  return { changes, revisions: changes.map(({ revision }) => revision), nextPageToken };
}

/** The cursor after the newest change. */
async function head(): Promise<string> {
  return (await stock.newestChange())?.cursor as string;
}

/** The changes of all pages, and how many pages there are. */
async function readAll(protocol: Protocol, query: Query) {
  const revisions: bigint[] = [];
  let pageToken = "";
  let pages = 0;
  do {
    const page = await list(protocol, { ...query, pageToken });
    revisions.push(...page.revisions);
    pageToken = page.nextPageToken;
    pages += 1;
  } while (pageToken !== "" && pages < 100);
  return { revisions, pages };
}

describe.each(protocols)("over $name", (protocol) => {
  it("each write of stock is one change, with all that was said", async () => {
    await stock.set(7n, 10n);
    const after = await head();
    const headers = { "x-request-id": "request-of-history" };
    const note = { reason: "count", reference: "count 2026" };
    const earliest = Date.now();
    await stock.get(protocol, "updateInventory", { petId: 7n, update: { quantity: 10n, ...note } }, headers);
    await stock.get(protocol, "adjustInventory", { petId: 7n, adjustment: { delta: -2n } }, headers);
    const { hold } = await stock.get(protocol, "createHold", { petId: 7n, quantity: 1n, reference: "cart" });
    await stock.get(protocol, "commitHold", { holdId: hold?.holdId as string }, headers);
    const { changes } = await list(protocol, { after });
    const common = { petId: 7n, keyId: stock.key.id, requestId: "request-of-history" };
    expect(changes).toMatchObject([
      { ...common, ...note, before: 10n, after: 10n, kind: StockChangeKind.SET },
      { ...common, before: 10n, after: 8n, kind: StockChangeKind.ADJUST },
      { ...common, before: 8n, after: 7n, kind: StockChangeKind.HOLD, reference: "cart" },
    ]);
    expect([changes[1]?.reason, changes[1]?.reference, changes[2]?.reason]).toEqual([undefined, undefined, undefined]);
    for (const { occurredAt } of changes) {
      const atMs = timestampMs(occurredAt as NonNullable<typeof occurredAt>);
      expect(atMs).toBeGreaterThanOrEqual(earliest);
      expect(atMs).toBeLessThanOrEqual(Date.now());
    }
  });

  it("revisions have no gap, and each cursor leads to the next change", async () => {
    const after = await head();
    for (const petId of [7n, 6n, 7n, 5n]) {
      await stock.set(petId, 1n);
    }
    const { changes } = await list(protocol, { after });
    const [first] = changes;
    expect(changes.map(({ revision }) => revision - (first?.revision ?? 0n))).toEqual([0n, 1n, 2n, 3n]);
    for (const [index, { cursor }] of changes.entries()) {
      expect((await list(protocol, { after: cursor })).revisions).toEqual(
        changes.slice(index + 1).map(({ revision }) => revision),
      );
    }
  });

  it("pages are read on in either order, and to either end", async () => {
    const after = await head();
    for (let quantity = 0n; quantity < 7n; quantity += 1n) {
      await stock.set(quantity % 2n === 0n ? 7n : 6n, quantity);
    }
    const { revisions } = await list(protocol, { after });
    expect(revisions).toHaveLength(7);
    const down = revisions.toReversed();
    expect(await readAll(protocol, { after, pageSize: 3 })).toEqual({ revisions, pages: 3 });
    expect(await readAll(protocol, { after, pageSize: 7 })).toEqual({ revisions, pages: 1 });
    expect(await readAll(protocol, { after, pageSize: 3, newestFirst: true })).toEqual({ revisions: down, pages: 3 });
    const of7 = revisions.filter((_, index) => index % 2 === 0);
    expect((await readAll(protocol, { after, pageSize: 1, pet: 7n })).revisions).toEqual(of7);
    expect((await readAll(protocol, { after, pageSize: 3, petId: [7n] })).revisions).toEqual(of7);
    expect((await readAll(protocol, { after, pageSize: 2, petId: [6n, 7n, 7n] })).revisions).toEqual(revisions);
    expect((await readAll(protocol, { after, pageSize: 2, pet: 7n, petId: [6n, 7n] })).revisions).toEqual(of7);
    expect((await readAll(protocol, { after, pet: 7n, petId: [6n] })).revisions).toEqual([]);
    const newest = await list(protocol, { newestFirst: true, pageSize: 2 });
    expect(newest.revisions).toEqual(down.slice(0, 2));
  });

  it("what is written between two pages is in the later one", async () => {
    const after = await head();
    await stock.set(7n, 1n);
    await stock.set(7n, 2n);
    const first = await list(protocol, { after, pageSize: 1 });
    await stock.set(7n, 3n);
    const second = await list(protocol, { after, pageSize: 9, pageToken: first.nextPageToken });
    expect(second.changes.map((change) => change.after)).toEqual([2n, 3n]);
  });

  it("a crossing is told once each time the stock goes down to the count or below it", async () => {
    const after = await head();
    for (const quantity of [10n, 5n, 4n, 6n, 5n, 3n, 9n, -1n]) {
      await stock.set(7n, quantity);
    }
    const { changes } = await list(protocol, { after, crossing: 5n });
    expect(changes.map((change) => [change.before, change.after])).toEqual([
      [10n, 5n],
      [6n, 5n],
      [9n, -1n],
    ]);
  });

  it("without a page size there are 100 changes, and with any size 1,000 at most", async () => {
    const after = await head();
    const changes = Array.from({ length: 1_000 }, () => ({ petId: 7n, quantity: 1n }));
    await stock.get(protocol, "batchUpdateInventory", { changes });
    await stock.set(7n, 1n);
    expect((await list(protocol, { after })).revisions).toHaveLength(100);
    expect((await list(protocol, { after, pageSize: 2_147_483_647 })).revisions).toHaveLength(1_000);
    expect((await readAll(protocol, { after, pageSize: 5_000 })).revisions).toHaveLength(1_001);
  });

  it("pets that have no entry are not found, whichever filter names them", async () => {
    for (const query of [{ pet: 404n }, { petId: [404n] }, { petId: [7n, 404n] }, { pet: 7n, petId: [404n] }]) {
      expectFailure(await stock.call(protocol, "listStockChanges", query), "PET_NOT_FOUND");
    }
  });

  it("a cursor that was not answered is refused", async () => {
    const cursor = await head();
    const bad = ["", "x", `${cursor}A`, `${cursor}=`, ` ${cursor}`, cursor.slice(0, -1), "A".repeat(2_000), "1", "犬"];
    bad.push(`${cursor.slice(0, -3)}${cursor.endsWith("AAA") ? "BBB" : "AAA"}`);
    for (const after of bad) {
      expectFailure(await stock.call(protocol, "listStockChanges", { after }), "INVALID_REQUEST");
    }
  });

  it("cursors and page tokens are judged also where the filters exclude each other", async () => {
    await stock.set(7n, 1n);
    await stock.set(7n, 2n);
    const excluding = { pet: 7n, petId: [6n] };
    const { nextPageToken } = await list(protocol, { pageSize: 1, pet: 7n });
    const refused: [Query, ErrorCode][] = [
      [{ after: "garbage" }, "INVALID_REQUEST"],
      [{ after: issueCursor("0".repeat(12), 1n) }, "CURSOR_EXPIRED"],
      [{ pageToken: "garbage" }, "INVALID_PAGE_TOKEN"],
      [{ pageToken: nextPageToken }, "INVALID_PAGE_TOKEN"],
    ];
    for (const [query, code] of refused) {
      expectFailure(await stock.call(protocol, "listStockChanges", { ...excluding, ...query }), code);
    }
    const unknown = { pet: 7n, petId: [404n], after: "garbage" };
    expectFailure(await stock.call(protocol, "listStockChanges", unknown), "INVALID_REQUEST");
    expect(await list(protocol, { ...excluding, after: await head() })).toMatchObject({
      changes: [],
      nextPageToken: "",
    });
  });

  it("a page token belongs to its filter", async () => {
    await stock.set(7n, 1n);
    await stock.set(6n, 1n);
    await stock.set(7n, 1n);
    const { nextPageToken: pageToken } = await list(protocol, { pageSize: 1, pet: 7n });
    expect(pageToken).not.toBe("");
    expect((await list(protocol, { pageSize: 5, petId: [7n], pageToken })).revisions.length).toBeGreaterThan(0);
    const cursor = await head();
    const others: Query[] = [{}, { pet: 6n }, { pet: 7n, newestFirst: true }, { pet: 7n, crossing: 0n }];
    for (const query of [...others, { pet: 7n, after: cursor }]) {
      expectFailure(await stock.call(protocol, "listStockChanges", { ...query, pageToken }), "INVALID_PAGE_TOKEN");
    }
    const orders = await stock.get(protocol, "listOrders", { pageSize: 1 });
    const foreign = { pageToken: orders.nextPageToken };
    expectFailure(await stock.call(protocol, "listStockChanges", foreign), "INVALID_PAGE_TOKEN");
  });

  it.each<[title: string, query: Query]>([
    ["a page size of 0", { pageSize: 0 }],
    ["a negative page size", { pageSize: -1 }],
    ["101 pets", { petId: Array.from({ length: 101 }, () => 7n) }],
  ])("refuses %s", async (_title, query) => {
    expectFailure(await stock.call(protocol, "listStockChanges", query), "INVALID_REQUEST");
  });
});

it("an import is one change for each pet that it gives a quantity or a status, without a key", async () => {
  await stock.set(7n, 1n);
  const after = await head();
  const file = join(stock.server.store.directory, "counted.csv");
  writeFileSync(file, "id,quantity\n7,70\n8,80\n");
  await stock.server.store.run("import", file);
  const { changes } = await list(rest, { after });
  expect(changes).toMatchObject([
    { petId: 7n, before: 1n, after: 70n, kind: StockChangeKind.IMPORT },
    { petId: 8n, after: 80n, kind: StockChangeKind.IMPORT },
  ]);
  expect(changes.flatMap(({ keyId, requestId }) => [keyId, requestId])).toEqual(Array(4).fill(undefined));
});

describe("over REST", () => {
  async function get(path: string, method = "GET") {
    const http = createHttp1Client(stock.server);
    const answer = await http.send({ method, path, headers: { authorization: `Bearer ${stock.key.key}` } });
    http.close();
    return answer;
  }

  it("answers a bare array, in which what was not said is absent", async () => {
    const after = await head();
    await stock.set(7n, 5n);
    const answer = await get(`/v1/inventory/changes?after=${after}`);
    expect(JSON.parse(answer.text)).toEqual([
      {
        cursor: await head(),
        revision: expect.any(Number),
        petId: 7,
        before: expect.any(Number),
        after: 5,
        kind: "set",
        keyId: stock.key.id,
        requestId: expect.stringMatching(/\S/),
        occurredAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/),
      },
    ]);
    expect(answer.headers.get("link")).toBeNull();
  });

  it.each(["/v1/inventory/changes", "/v1/inventory/7/changes"])("Link leads through %s to the end", async (path) => {
    const after = await head();
    await stock.set(7n, 1n);
    await stock.set(7n, 2n);
    await stock.set(7n, 3n);
    const seen: number[] = [];
    let next: string | undefined = `${path}?pageSize=2&after=${after}`;
    while (next !== undefined && seen.length < 9) {
      const answer = await get(next);
      seen.push(...JSON.parse(answer.text).map((change: { after: number }) => change.after));
      const link = nextLink(answer.headers);
      expect(link?.pathname ?? path).toBe(path);
      next = link && link.pathname + link.search;
    }
    expect(seen).toEqual([1, 2, 3]);
  });

  it("a parameter that does not fit its type is refused", async () => {
    for (const query of ["pageSize=x", "petId=x", "crossing=1.5", "newestFirst=maybe", "crossing="]) {
      expectErrorBody(await get(`/v1/inventory/changes?${query}`), "INVALID_REQUEST");
    }
  });

  it.each(["PUT", "POST", "PATCH", "DELETE"])("the history cannot be written to: %s is 405", async (method) => {
    expectErrorBody(await get("/v1/inventory/7/changes", method), "METHOD_NOT_ALLOWED");
  });
});
