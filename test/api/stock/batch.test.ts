import { describe, expect, it } from "vitest";
import { StockChangeKind } from "../../../gen/petstore/v1/stock_change_pb.ts";
import { protocols, rest } from "../../support/clients/protocols.ts";
import { type ErrorCode, errorCodes } from "../../support/error-codes.ts";
import { expectErrorBody, expectFailure } from "../../support/expectations.ts";
import { int64Max, int64Min } from "../../support/fixture.ts";
import { createHttp1Client } from "../../support/http.ts";
import type { Input } from "../../support/operations.ts";
import { StockServer } from "./stock-server.ts";

const stock = new StockServer();

type Change = NonNullable<Input<"batchUpdateInventory">["changes"]>[number];

describe.each(protocols)("over $name", (protocol) => {
  const send = (changes: readonly Change[], atomic = false) =>
    stock.call(protocol, "batchUpdateInventory", { changes: [...changes], atomic });

  const results = async (changes: readonly Change[], atomic = false) =>
    (await stock.get(protocol, "batchUpdateInventory", { changes: [...changes], atomic })).results.map(
      ({ petId, item, error }) => [petId, item?.quantity ?? error?.code],
    );

  it.each([false, true])("makes the changes in their order, one pet twice among them: atomic %j", async (atomic) => {
    await stock.set(7n, 1n);
    await stock.set(6n, 5n);
    const changes = [
      { petId: 7n, quantity: 5n },
      { petId: 6n, delta: -5n },
      { petId: 7n, delta: -2n },
    ];
    expect(await results(changes, atomic)).toEqual([
      [7n, 5n],
      [6n, 0n],
      [7n, 3n],
    ]);
    expect([await stock.quantityOf(7n), await stock.quantityOf(6n)]).toEqual([3n, 0n]);
  });

  it("tells of each refusal what a request of its own would answer, and makes the other changes", async () => {
    await stock.set(7n, 1n);
    await stock.set(6n, 1n);
    const refused: readonly [Change, ErrorCode][] = [
      [{ petId: 404n, quantity: 1n }, "PET_NOT_FOUND"],
      [{ petId: 405n, delta: 1n }, "PET_NOT_FOUND"],
      [{ petId: 7n, delta: -5n }, "INSUFFICIENT_STOCK"],
      [{ petId: 7n, delta: int64Max }, "QUANTITY_OUT_OF_RANGE"],
      [{ petId: 7n, quantity: 9n, etag: '"spent"' }, "PRECONDITION_FAILED"],
      [{ petId: 404n, quantity: 9n, etag: '"spent"' }, "PET_NOT_FOUND"],
      [{ petId: 7n, delta: -5n, etag: '"spent"' }, "PRECONDITION_FAILED"],
    ];
    const changes = [...refused.map(([change]) => change), { petId: 6n, delta: 1n }];
    const { results } = await stock.get(protocol, "batchUpdateInventory", { changes });
    expect(results.map(({ petId }) => petId)).toEqual(changes.map(({ petId }) => petId));
    for (const [index, [{ petId, etag, ...change }, code]] of refused.entries()) {
      const alone =
        change.quantity === undefined
          ? await stock.call(rest, "adjustInventory", { petId: petId as bigint, adjustment: change as object, etag })
          : await stock.call(rest, "updateInventory", { petId: petId as bigint, update: change as object, etag });
      expect(results[index]?.item).toBeUndefined();
      expect(results[index]?.error).toMatchObject(alone.failure?.body as object);
      expect(results[index]?.error?.code).toBe(code);
    }
    expect(results.at(-1)?.item?.quantity).toBe(2n);
    expect(await stock.quantityOf(7n)).toBe(1n);
  });

  it("answers 200 though all changes are refused, and changes nothing", async () => {
    await stock.expectNothingChanged(async () => {
      expect(await results([{ petId: 404n, quantity: 1n }])).toEqual([[404n, "PET_NOT_FOUND"]]);
    });
  });

  it("a second change with the same tag is refused", async () => {
    const etag = await stock.set(7n, 1n);
    const change = { petId: 7n, delta: 1n, etag };
    expect(await results([change, change])).toEqual([
      [7n, 2n],
      [7n, "PRECONDITION_FAILED"],
    ]);
    expect(await results([{ ...change, etag: "*" }])).toEqual([[7n, 3n]]);
  });

  it.each<[change: Change, code: ErrorCode]>([
    [{ petId: 404n, quantity: 1n }, "PET_NOT_FOUND"],
    [{ petId: 7n, delta: -100n }, "INSUFFICIENT_STOCK"],
    [{ petId: 7n, delta: int64Max }, "QUANTITY_OUT_OF_RANGE"],
    [{ petId: 7n, quantity: 1n, etag: '"spent"' }, "PRECONDITION_FAILED"],
  ])("where it is atomic, the refusal of %o refuses all: %s", async (change, code) => {
    await stock.set(7n, 12n);
    await stock.expectNothingChanged(async () => {
      const good = { petId: 7n, delta: 1n };
      const outcome = await send([good, good, good, change, good, { petId: 405n, delta: 1n }], true);
      expectFailure(outcome, code);
      expect(outcome.failure?.message).toMatch(/^changes\[3\]: \S/);
    });
    expect(await stock.quantityOf(7n)).toBe(12n);
  });

  it("each change is in the history by its kind, with the request's id", async () => {
    const changes = [
      { petId: 7n, quantity: 5n, reason: "count", reference: "c 1" },
      { petId: 7n, delta: 1n },
    ];
    const input: Input<"batchUpdateInventory"> = { changes };
    await stock.get(protocol, "batchUpdateInventory", input, { "x-request-id": "batch-of-two" });
    const newest = await stock.get(rest, "listStockChanges", { newestFirst: true, pageSize: 2 });
    const common = { petId: 7n, requestId: "batch-of-two", keyId: stock.key.id };
    expect(newest.changes).toMatchObject([
      { ...common, kind: StockChangeKind.ADJUST, before: 5n, after: 6n },
      { ...common, kind: StockChangeKind.SET, after: 5n, reason: "count", reference: "c 1" },
    ]);
    expect([newest.changes[0]?.reason, newest.changes[0]?.reference]).toEqual([undefined, undefined]);
  });

  it("takes 1,000 changes, and counts as one request", async () => {
    await stock.set(7n, 0n);
    const changes = Array.from({ length: 1_000 }, () => ({ petId: 7n, delta: 1n }));
    const before = await stock.call(protocol, "getInventory", { petId: 7n });
    const outcome = await send(changes);
    expect(outcome.message?.results.at(-1)?.item?.quantity).toBe(1_000n);
    const left = ({ headers }: { headers: Headers }) => Number(headers.get("x-ratelimit-remaining"));
    expect(left(before) - left(outcome)).toBe(1);
  });

  const good = { petId: 7n, delta: 1n };
  it.each<[title: string, changes: readonly Change[]]>([
    ["no change", []],
    ["1,001 changes", Array.from({ length: 1_001 }, () => good)],
    ["neither quantity nor delta", [good, { petId: 7n }]],
    ["both quantity and delta", [good, { petId: 7n, quantity: 1n, delta: 1n }]],
    ["a delta of 0", [good, { petId: 7n, delta: 0n }]],
    ["no pet", [good, { delta: 1n }]],
    ["a weak tag", [good, { ...good, etag: 'W/"a"' }]],
    ["two tags", [good, { ...good, etag: '"a", "b"' }]],
    ["an unreadable tag", [good, { ...good, etag: '"a' }]],
    ["an empty tag", [good, { ...good, etag: "" }]],
    ["a long reason", [good, { ...good, reason: "x".repeat(65) }]],
    ["a reason with a newline", [good, { ...good, reason: "a\n" }]],
    ["a long reference", [good, { ...good, reference: "x".repeat(256) }]],
  ])("refuses %s with INVALID_REQUEST, and changes nothing", async (_title, changes) => {
    await stock.expectNothingChanged(async () => {
      expectFailure(await send(changes), "INVALID_REQUEST");
      expectFailure(await send(changes, true), "INVALID_REQUEST");
    });
  });

  it("the smallest delta is out of reach, or out of range", async () => {
    await stock.set(7n, -1n);
    const change = { petId: 7n, delta: int64Min };
    expect(await results([change, { ...change, allowNegative: true }])).toEqual([
      [7n, "INSUFFICIENT_STOCK"],
      [7n, "QUANTITY_OUT_OF_RANGE"],
    ]);
  });
});

describe("over REST", () => {
  async function post(body: string) {
    const http = createHttp1Client(stock.server);
    const headers = { authorization: `Bearer ${stock.key.key}`, "content-type": "application/json" };
    const answer = await http.send({ method: "POST", path: "/v1/inventory:batch", headers, body });
    http.close();
    return answer;
  }

  it("answers a bare array of items and errors", async () => {
    await stock.set(7n, 1n);
    const answer = await post('{"changes": [{"petId": 7, "quantity": 5}, {"petId": 404, "delta": 1}]}');
    expect(JSON.parse(answer.text)).toEqual([
      { petId: 7, item: { petId: 7, quantity: 5, status: "pending" } },
      {
        petId: 404,
        error: {
          code: "PET_NOT_FOUND",
          message: expect.stringMatching(/\S/),
          status: errorCodes.PET_NOT_FOUND.http,
        },
      },
    ]);
  });

  it("the pet 0 is a pet", async () => {
    expect(JSON.parse((await post('{"changes": [{"petId": 0, "delta": 1}]}')).text)).toMatchObject([
      { petId: 0, item: {} },
    ]);
  });

  it.each([
    "",
    "{}",
    '{"changes": null}',
    '{"changes": {}}',
    '{"changes": [null]}',
    '{"changes": [7]}',
    '{"changes": [{"petId": "7", "delta": 1}]}',
    '{"changes": [{"petId": 7, "delta": "1"}]}',
    '{"changes": [{"petId": 7, "delta": 1.5}]}',
    '{"changes": [{"petId": 7, "quantity": 9223372036854775808}]}',
    '{"changes": [{"petId": 7, "delta": 1}], "atomic": "yes"}',
    '[{"petId": 7, "delta": 1}]',
  ])("refuses the body %s, and changes nothing", async (body) => {
    await stock.expectNothingChanged(async () => expectErrorBody(await post(body), "INVALID_REQUEST"));
  });
});
