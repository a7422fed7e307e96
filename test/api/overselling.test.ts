import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { HoldState } from "../../gen/petstore/v1/hold_pb.ts";
import type { Outcome } from "../support/clients/client.ts";
import { rest } from "../support/clients/protocols.ts";
import { Crowd } from "../support/crowd.ts";
import type { ErrorCode } from "../support/error-codes.ts";
import { expectFailure, expectSuccess } from "../support/expectations.ts";
import { startServer, type TestServer } from "../support/server.ts";

const size = 64;
const stock = 40n;
const petId = 7n;

describe("64 clients at once, half of them over REST and half over gRPC", () => {
  let server: TestServer;
  let crowd: Crowd;
  let key: string;

  beforeAll(async () => {
    server = await startServer();
    ({ key } = await server.store.mintQuota(1_000_000, 1_000_000));
    crowd = new Crowd(server, size);
  });

  beforeEach(async () => {
    // A hold that an earlier test has left would take from the stock of the next one.
    const { holds } = expectSuccess(await server.call(rest, "listHolds", { petId, state: [HoldState.HELD] }, { key }));
    await Promise.all(holds.map(({ holdId }) => server.call(rest, "releaseHold", { holdId }, { key })));
    expectSuccess(await server.call(rest, "updateInventory", { petId, update: { quantity: stock } }, { key }));
  });

  afterAll(async () => {
    crowd?.close();
    await server?.stop();
  });

  it("read an entry, then write with the tag that they read: one succeeds", async () => {
    const read = (await crowd.call("getInventory", () => ({ petId }), { key })).map(expectSuccess);
    const before = await changesOfPet();
    const outcomes = await crowd.call(
      "updateInventory",
      (client) => ({ petId, update: { quantity: BigInt(client) }, etag: read[client]?.etag ?? "" }),
      { key },
    );
    const [winner, ...others] = successesOf(outcomes, { refusedWith: "PRECONDITION_FAILED" });
    expect(others).toEqual([]);
    expect(new Set(read.map(({ etag }) => etag)).size).toBe(1);
    expect(winner?.etag).not.toBe(read[0]?.etag);
    const now = expectSuccess(await server.call(rest, "getInventory", { petId }, { key }));
    expect(now).toMatchObject({ item: winner?.item, etag: winner?.etag });
    expect(await changesOfPet()).toHaveLength(before.length + 1);
  });

  it("set and adjust with the same tag: one succeeds", async () => {
    const { etag } = expectSuccess(await server.call(rest, "getInventory", { petId }, { key }));
    const [sets, adjustments] = await Promise.all([
      crowd.call("updateInventory", (client) => ({ petId, update: { quantity: BigInt(client) }, etag }), { key }),
      crowd.call("adjustInventory", () => ({ petId, adjustment: { delta: -1n }, etag }), { key }),
    ]);
    const outcomes: readonly Outcome[] = [...sets, ...adjustments];
    expect(successesOf(outcomes, { refusedWith: "PRECONDITION_FAILED" })).toHaveLength(1);
  });

  it("each take one of 40: 40 succeed, 24 are refused, and the stock is 0", async () => {
    const outcomes = await crowd.call("adjustInventory", () => ({ petId, adjustment: { delta: -1n } }), { key });
    const taken = successesOf(outcomes, { refusedWith: "INSUFFICIENT_STOCK" });
    expect(sorted(taken.map(({ item }) => item?.quantity))).toEqual(
      Array.from({ length: 40 }, (_, left) => BigInt(left)),
    );
    expect(new Set(taken.map(({ etag }) => etag)).size).toBe(40);
    expect(await availability()).toMatchObject({ quantity: 0n, held: 0n, available: 0n });
  });

  it("each take one of 40 by a batch: 40 succeed, 24 are refused, and the stock is 0", async () => {
    const changes = [{ petId, delta: -1n }];
    const outcomes = await crowd.call("batchUpdateInventory", () => ({ changes }), { key });
    const results = outcomes.map((outcome) => expectSuccess(outcome).results[0]);
    expect(results.filter((result) => result?.error?.code === "INSUFFICIENT_STOCK")).toHaveLength(24);
    expect(sorted(results.flatMap((result) => result?.item?.quantity ?? []))).toEqual(
      Array.from({ length: 40 }, (_, left) => BigInt(left)),
    );
    expect(await availability()).toMatchObject({ quantity: 0n, available: 0n });
  });

  it("each hold one of 40: 40 succeed, 24 are refused, and nothing is available", async () => {
    const outcomes = await crowd.call("createHold", () => ({ petId, quantity: 1n }), { key });
    const holds = successesOf(outcomes, { refusedWith: "INSUFFICIENT_STOCK" }).map(({ hold }) => hold?.holdId ?? "");
    expect(holds).toHaveLength(40);
    expect(await availability()).toMatchObject({ quantity: stock, held: stock, available: 0n });

    const taken = await crowd.call("adjustInventory", () => ({ petId, adjustment: { delta: -1n } }), { key });
    expect(successesOf(taken, { refusedWith: "INSUFFICIENT_STOCK" })).toEqual([]);

    const commits = await crowd.call("commitHold", (client) => ({ holdId: holds[client % holds.length] ?? "" }), {
      key,
    });
    expect(commits.map((outcome) => expectSuccess(outcome).hold?.state)).toEqual(
      commits.map(() => HoldState.COMMITTED),
    );
    expect(await availability()).toMatchObject({ quantity: 0n, held: 0n, available: 0n });
  });

  it("commit and release one hold: it ends once", async () => {
    const { hold } = expectSuccess(await server.call(rest, "createHold", { petId, quantity: 3n }, { key }));
    const holdId = hold?.holdId ?? "";
    const [commits, releases] = await Promise.all([
      crowd.call("commitHold", () => ({ holdId }), { key }),
      crowd.call("releaseHold", () => ({ holdId }), { key }),
    ]);
    const isCommitted = commits[0]?.failure === undefined;
    const [done, refused] = isCommitted ? [commits, releases] : [releases, commits];
    done.forEach((outcome: Outcome) => {
      expectSuccess(outcome);
    });
    refused.forEach((outcome: Outcome) => {
      expectFailure(outcome, "HOLD_ENDED");
    });
    expect(await availability()).toMatchObject({ quantity: isCommitted ? stock - 3n : stock, held: 0n });
  });

  it("make 32 identical adjustments with one idempotency key: one is done, and 31 are replayed", async () => {
    const half = new Crowd(server, 32);
    const before = await changesOfPet();
    const outcomes = await half.call("adjustInventory", () => ({ petId, adjustment: { delta: -3n } }), {
      key,
      headers: { "idempotency-key": "till-4-sale-17" },
    });
    half.close();
    const answers = outcomes.map(expectSuccess);
    expect(new Set(answers.map(({ etag }) => etag)).size).toBe(1);
    expect(answers.map(({ item }) => item?.quantity)).toEqual(answers.map(() => stock - 3n));
    const replayed = outcomes.filter(({ headers }) => headers.get("idempotency-replayed") === "true");
    expect(replayed).toHaveLength(31);
    expect(outcomes.filter(({ headers }) => !headers.has("idempotency-replayed"))).toHaveLength(1);
    expect(await availability()).toMatchObject({ quantity: stock - 3n });
    expect(await changesOfPet()).toHaveLength(before.length + 1);
  });

  async function availability() {
    return expectSuccess(await server.call(rest, "getAvailability", { petId }, { key })).availability;
  }

  async function changesOfPet() {
    return expectSuccess(await server.call(rest, "listStockChanges", { pet: petId, pageSize: 1_000 }, { key })).changes;
  }
});

/** The messages of the successes. Expects that all others were refused with this code. */
function successesOf<Each extends Outcome>(outcomes: readonly Each[], { refusedWith }: { refusedWith: ErrorCode }) {
  const refused = outcomes.filter(({ failure }) => failure !== undefined);
  for (const outcome of refused) {
    expectFailure(outcome, refusedWith);
  }
  return outcomes.flatMap(({ message }) => (message === undefined ? [] : [message as NonNullable<Each["message"]>]));
}

function sorted(numbers: readonly (bigint | undefined)[]) {
  return numbers.toSorted((a, b) => Number((a ?? -1n) - (b ?? -1n)));
}
