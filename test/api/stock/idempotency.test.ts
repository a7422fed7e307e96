import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { PetStatus } from "../../../gen/petstore/v1/pet_status_pb.ts";
import type { Outcome } from "../../support/clients/client.ts";
import { type Protocol, protocolNamed, protocols, rest } from "../../support/clients/protocols.ts";
import { expectFailure, expectSuccess } from "../../support/expectations.ts";
import { createHttp1Client } from "../../support/http.ts";
import type { Input } from "../../support/operations.ts";
import { StockServer } from "./stock-server.ts";

const stock = new StockServer();
const grpc = protocolNamed("gRPC");

type Writing = "updateInventory" | "adjustInventory" | "batchUpdateInventory" | "createHold";

/** A request of each operation that makes something, and another one of the same. */
const requests: { readonly [O in Writing]: readonly [Input<O>, Input<O>] } = {
  updateInventory: [
    { petId: 7n, update: { quantity: 50n } },
    { petId: 7n, update: { quantity: 51n } },
  ],
  adjustInventory: [
    { petId: 7n, adjustment: { delta: 1n } },
    { petId: 6n, adjustment: { delta: 1n } },
  ],
  batchUpdateInventory: [
    { changes: [{ petId: 7n, delta: 1n }] },
    { changes: [{ petId: 7n, delta: 1n }], atomic: true },
  ],
  createHold: [
    { petId: 7n, quantity: 1n, reference: "a" },
    { petId: 7n, quantity: 1n, reference: "b" },
  ],
};
const writings = Object.keys(requests) as Writing[];

function send<O extends Writing>(protocol: Protocol, operation: O, input: Input<O>, key: string) {
  return stock.call(protocol, operation, input, { "idempotency-key": key });
}

function isReplayed({ headers }: Outcome): boolean {
  const value = headers.get("idempotency-replayed");
  expect([null, "true"]).toContain(value);
  return value !== null;
}

describe.each(protocols)("over $name", (protocol) => {
  it.each(writings)("%s is done once under one key, and answered the same again", async (operation) => {
    await stock.set(7n, 100n);
    const key = randomUUID();
    const first = await send(protocol, operation, requests[operation][0], key);
    expectSuccess(first);
    expect(isReplayed(first)).toBe(false);
    await stock.expectNothingChanged(async () => {
      const second = await send(protocol, operation, requests[operation][0], key);
      expect(second.message).toEqual(first.message);
      expect(isReplayed(second)).toBe(true);
      expect(second.headers.get("etag")).toBe(first.headers.get("etag"));
    });
  });

  it.each(writings)("%s with other content under the same key is refused, and changes nothing", async (operation) => {
    await stock.set(7n, 100n);
    const key = randomUUID();
    expectSuccess(await send(protocol, operation, requests[operation][0], key));
    await stock.expectNothingChanged(async () => {
      const other = await send(protocol, operation, requests[operation][1], key);
      expectFailure(other, "IDEMPOTENCY_KEY_REUSED");
    });
  });

  it.each(["commitHold", "releaseHold"] as const)(
    "%s is answered again, though the hold has ended since",
    async (end) => {
      await stock.set(7n, 100n);
      const { hold } = await stock.get(rest, "createHold", { petId: 7n, quantity: 1n });
      const headers = { "idempotency-key": randomUUID() };
      const input = { holdId: hold?.holdId as string };
      const first = await stock.call(protocol, end, input, headers);
      const second = await stock.call(protocol, end, input, headers);
      expect(second.message).toEqual(expectSuccess(first));
      expect([isReplayed(first), isReplayed(second)]).toEqual([false, true]);
    },
  );

  it("another operation under the same key is refused", async () => {
    const key = randomUUID();
    expectSuccess(await send(protocol, "adjustInventory", requests.adjustInventory[0], key));
    expectFailure(await send(protocol, "updateInventory", requests.updateInventory[0], key), "IDEMPOTENCY_KEY_REUSED");
  });

  it("a retry is replayed though its own tag is spent, and tags are no content", async () => {
    const input = { ...requests.updateInventory[0], etag: await stock.set(7n, 100n) };
    const key = randomUUID();
    const first = expectSuccess(await send(protocol, "updateInventory", input, key));
    await stock.set(7n, 3n);
    for (const etag of [input.etag, '"other"', undefined]) {
      const again = await send(protocol, "updateInventory", { ...input, etag }, key);
      expect(again.message).toEqual(first);
      expect(isReplayed(again)).toBe(true);
    }
    expect(await stock.quantityOf(7n)).toBe(3n);
  });

  it("a refusal is not remembered", async () => {
    await stock.set(2n, 0n);
    const key = randomUUID();
    const take: Input<"adjustInventory"> = { petId: 2n, adjustment: { delta: -1n } };
    expectFailure(await send(protocol, "adjustInventory", take, key), "INSUFFICIENT_STOCK");
    await stock.set(2n, 5n);
    const second = await send(protocol, "adjustInventory", take, key);
    expect(second.message?.item?.quantity).toBe(4n);
    expect(isReplayed(second)).toBe(false);
  });

  it("a batch with refused changes is an answer, and is remembered", async () => {
    await stock.set(7n, 0n);
    const key = randomUUID();
    const input: Input<"batchUpdateInventory"> = {
      changes: [
        { petId: 7n, delta: -1n },
        { petId: 404n, delta: 1n },
      ],
    };
    const first = await send(protocol, "batchUpdateInventory", input, key);
    expect(first.message?.results.map(({ error }) => error?.code)).toEqual(["INSUFFICIENT_STOCK", "PET_NOT_FOUND"]);
    await stock.set(7n, 5n);
    const second = await send(protocol, "batchUpdateInventory", input, key);
    expect(second.message).toEqual(first.message);
    expect(isReplayed(second)).toBe(true);
    expect(await stock.quantityOf(7n)).toBe(5n);
  });

  it("bad content is told before the key, and a bad tag with it", async () => {
    const key = randomUUID();
    expectSuccess(await send(protocol, "updateInventory", requests.updateInventory[0], key));
    const bad: readonly Input<"updateInventory">[] = [
      { petId: 7n, update: {} },
      { petId: 7n, update: { quantity: 1n, reason: "a\n" } },
      { ...requests.updateInventory[0], etag: '"a' },
    ];
    for (const input of bad) {
      expectFailure(await send(protocol, "updateInventory", input, key), "INVALID_REQUEST");
    }
  });

  it("the key may be bare or in quotes", async () => {
    await stock.set(7n, 100n);
    const key = `a"b\\c-${randomUUID()}`;
    const quoted = `"${key.replace(/["\\]/g, "\\$&")}"`;
    const first = await send(protocol, "adjustInventory", requests.adjustInventory[0], key);
    const second = await send(protocol, "adjustInventory", requests.adjustInventory[0], quoted);
    expect(second.message).toEqual(expectSuccess(first));
    expect(isReplayed(second)).toBe(true);
  });

  it.each(["", '""', "x".repeat(256), `"${"x".repeat(256)}"`, "a b", '"a b"', '"a', '"a"b"', '"a\\b"'])(
    "the key %j is refused, and nothing changes",
    async (key) => {
      await stock.expectNothingChanged(async () => {
        const outcome = await send(protocol, "adjustInventory", requests.adjustInventory[0], key);
        expectFailure(outcome, "INVALID_REQUEST");
        expect(outcome.failure?.message).toMatch(/^Idempotency-Key: /);
      });
    },
  );

  it.each([1, 255])("the key may have %i characters", async (length) => {
    const key = length === 1 ? "k" : randomUUID().padEnd(length, "~");
    expect((await send(protocol, "updateInventory", requests.updateInventory[0], key)).failure).toBeUndefined();
  });

  it("reads ignore the header", async () => {
    const outcome = await stock.call(protocol, "getInventory", { petId: 7n }, { "idempotency-key": "a b" });
    expect(outcome.message?.item?.petId).toBe(7n);
    expect(isReplayed(outcome)).toBe(false);
  });

  it("32 adjustments at once with one key are one", async () => {
    await stock.set(7n, 100n);
    const key = randomUUID();
    const outcomes = await Promise.all(
      Array.from({ length: 32 }, (_, index) =>
        send(index % 2 === 0 ? protocol : rest, "adjustInventory", requests.adjustInventory[0], key),
      ),
    );
    expect(outcomes.filter((outcome) => !isReplayed(outcome))).toHaveLength(1);
    for (const outcome of outcomes) {
      expect(expectSuccess(outcome).item).toMatchObject({ petId: 7n, quantity: 101n, status: PetStatus.PENDING });
    }
    expect(await stock.quantityOf(7n)).toBe(101n);
  });
});

it("REST and RPC share keys where they mean the same", async () => {
  await stock.set(7n, 100n);
  for (const operation of writings) {
    const key = randomUUID();
    const first = expectSuccess(await send(rest, operation, requests[operation][0], key));
    const second = await send(grpc, operation, requests[operation][0], key);
    expect(second.message).toEqual(first);
    expect(isReplayed(second)).toBe(true);
  }
});

it("API keys do not share idempotency keys", async () => {
  await stock.set(7n, 100n);
  const other = await stock.server.store.mintKey();
  const headers = { "idempotency-key": randomUUID() };
  const [input] = requests.adjustInventory;
  expectSuccess(await stock.call(rest, "adjustInventory", input, headers));
  const outcome = await stock.server.call(rest, "adjustInventory", input, { key: other.key, headers });
  expect(outcome.message?.item?.quantity).toBe(102n);
  expect(isReplayed(outcome)).toBe(false);
});

it("a replay is charged like any request", async () => {
  const key = randomUUID();
  const left = async () => {
    const { headers } = await send(rest, "adjustInventory", requests.adjustInventory[0], key);
    return Number(headers.get("x-ratelimit-remaining"));
  };
  const first = await left();
  expect(await left()).toBe(first - 1);
});

it("a replay over REST has the status of the first, and neither two lines of the header nor a tab in it will do", async () => {
  await stock.set(7n, 100n);
  const http = createHttp1Client(stock.server);
  const post = (...keys: readonly string[]) =>
    http.send({
      method: "POST",
      path: "/v1/holds",
      headers: {
        authorization: `Bearer ${stock.key.key}`,
        "content-type": "application/json",
        "idempotency-key": [...keys],
      },
      body: '{"petId": 7, "quantity": 1}',
    });
  const key = randomUUID();
  const [first, second] = [await post(key), await post(key)];
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(second.text).toBe(first.text);
  await stock.expectNothingChanged(async () => {
    expect((await post(key, key)).status).toBe(400);
    expect((await post("a\tb")).status).toBe(400);
  });
  http.close();
});
