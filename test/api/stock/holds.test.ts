import { timestampMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { HoldState } from "../../../gen/petstore/v1/hold_pb.ts";
import { StockChangeKind } from "../../../gen/petstore/v1/stock_change_pb.ts";
import { type Protocol, protocolNamed, protocols, rest } from "../../support/clients/protocols.ts";
import { until } from "../../support/deadline.ts";
import type { ErrorCode } from "../../support/error-codes.ts";
import { expectErrorBody, expectFailure } from "../../support/expectations.ts";
import { createHttp1Client } from "../../support/http.ts";
import type { Input } from "../../support/operations.ts";
import { StockServer } from "./stock-server.ts";

const stock = new StockServer();

type Wish = Omit<Input<"createHold">, "$typeName" | "$unknown">;

async function hold(protocol: Protocol, wish: Wish) {
  const answer = await stock.get(protocol, "createHold", wish);
  return answer.hold as NonNullable<typeof answer.hold>;
}

async function availability(petId: bigint, protocol = rest) {
  const answer = (await stock.get(protocol, "getAvailability", { petId })).availability;
  return [answer?.quantity, answer?.held, answer?.available];
}

/** Gives back all that is held. */
async function releaseAll(): Promise<void> {
  const { holds } = await stock.get(rest, "listHolds", { state: [HoldState.HELD] });
  await Promise.all(holds.map(({ holdId }) => stock.call(rest, "releaseHold", { holdId })));
}

/** Waits until a hold has expired, which nobody but the clock does. */
async function expire(holdId: string): Promise<void> {
  await until(async () => (await stock.get(rest, "getHold", { holdId })).hold?.state === HoldState.EXPIRED, 10_000);
}

describe("over the binary encoding", () => {
  it.each([
    { seconds: 1n, nanos: 1_000_000_000 },
    { seconds: 604_799n, nanos: 2_000_000_000 },
    { seconds: 5n, nanos: -1 },
  ])("a ttl is a duration of the well-known type, which $seconds s and $nanos ns are not", async (ttl) => {
    await stock.expectNothingChanged(async () => {
      const outcome = await stock.call(protocolNamed("gRPC"), "createHold", { petId: 7n, quantity: 1n, ttl });
      expectFailure(outcome, "INVALID_REQUEST");
      expect(outcome.failure?.message).toMatch(/^ttl: /);
    });
  });
});

describe.each(protocols)("over $name", (protocol) => {
  it("keeps stock for a while, and tells of it", async () => {
    await releaseAll();
    await stock.set(7n, 10n);
    const earliest = Date.now();
    const made = await hold(protocol, { petId: 7n, quantity: 4n, ttl: { seconds: 90n }, reference: "cart 5" });
    expect(made).toMatchObject({
      holdId: expect.stringMatching(/^hold_[0-9A-Za-z_-]{16}$/),
      petId: 7n,
      quantity: 4n,
      reference: "cart 5",
      state: HoldState.HELD,
      keyId: stock.key.id,
    });
    const [created, expires] = [made.createdAt, made.expiresAt].map((time) => (time ? timestampMs(time) : Number.NaN));
    expect(created).toBeGreaterThanOrEqual(earliest);
    expect(created).toBeLessThanOrEqual(Date.now());
    expect((expires ?? 0) - (created ?? 0)).toBe(90_000);
    expect((await stock.get(protocol, "getHold", { holdId: made.holdId })).hold).toEqual(made);
    expect(await availability(7n, protocol)).toEqual([10n, 4n, 6n]);
  });

  it("keeps it for 15 minutes where nobody says, and without a reference", async () => {
    await stock.set(7n, 100n);
    const made = await hold(protocol, { petId: 7n, quantity: 1n });
    expect(made.reference).toBeUndefined();
    expect(Number(made.expiresAt?.seconds) - Number(made.createdAt?.seconds)).toBe(900);
  });

  it("what is held can be neither held nor taken by others", async () => {
    await releaseAll();
    await stock.set(7n, 10n);
    await hold(protocol, { petId: 7n, quantity: 8n });
    await stock.expectNothingChanged(async () => {
      const more = await stock.call(protocol, "createHold", { petId: 7n, quantity: 3n });
      expectFailure(more, "INSUFFICIENT_STOCK");
      expect(more.failure?.message).toMatch(/^The available stock of pet 7 is 2\. /);
      const input: Input<"adjustInventory"> = { petId: 7n, adjustment: { delta: -3n } };
      expectFailure(await stock.call(protocol, "adjustInventory", input), "INSUFFICIENT_STOCK");
    });
    await stock.get(protocol, "adjustInventory", { petId: 7n, adjustment: { delta: -2n } });
    expect(await availability(7n)).toEqual([8n, 8n, 0n]);
  });

  it("a set ignores what is held, and may leave less than nothing available", async () => {
    await releaseAll();
    await stock.set(7n, 10n);
    const { holdId } = await hold(protocol, { petId: 7n, quantity: 8n });
    await stock.set(7n, 5n);
    expect(await availability(7n, protocol)).toEqual([5n, 8n, -3n]);
    const committed = await stock.get(protocol, "commitHold", { holdId });
    expect(committed.hold?.state).toBe(HoldState.COMMITTED);
    expect(await availability(7n)).toEqual([-3n, 0n, -3n]);
  });

  it("a commit takes the stock once, and answers the same when it is sent again", async () => {
    await releaseAll();
    await stock.set(7n, 10n);
    const made = await hold(protocol, { petId: 7n, quantity: 4n, reference: "cart 5" });
    const committed = await stock.get(protocol, "commitHold", { holdId: made.holdId });
    expect(committed.hold).toEqual({ ...made, state: HoldState.COMMITTED });
    expect(await stock.newestChange()).toMatchObject({
      petId: 7n,
      before: 10n,
      after: 6n,
      kind: StockChangeKind.HOLD,
      reference: "cart 5",
      keyId: stock.key.id,
    });
    await stock.expectNothingChanged(async () => {
      expect(await stock.get(protocol, "commitHold", { holdId: made.holdId })).toEqual(committed);
      expectFailure(await stock.call(protocol, "releaseHold", { holdId: made.holdId }), "HOLD_ENDED");
    });
    expect(await availability(7n)).toEqual([6n, 0n, 6n]);
  });

  it("a commit says what it is for, in place of the hold", async () => {
    const { holdId } = await hold(protocol, { petId: 7n, quantity: 1n, reference: "cart 5" });
    await stock.get(protocol, "commitHold", { holdId, reason: "sale", reference: "order 17" });
    expect(await stock.newestChange()).toMatchObject({ reason: "sale", reference: "order 17" });
  });

  it("a release gives the stock back, and answers the same when it is sent again", async () => {
    await releaseAll();
    await stock.set(7n, 10n);
    const made = await hold(protocol, { petId: 7n, quantity: 4n });
    const newest = await stock.newestChange();
    const released = await stock.get(protocol, "releaseHold", { holdId: made.holdId });
    expect(released.hold).toEqual({ ...made, state: HoldState.RELEASED });
    await stock.expectNothingChanged(async () => {
      expect(await stock.get(protocol, "releaseHold", { holdId: made.holdId, reason: "why" })).toEqual(released);
      expectFailure(await stock.call(protocol, "commitHold", { holdId: made.holdId }), "HOLD_ENDED");
    });
    expect(await availability(7n)).toEqual([10n, 0n, 10n]);
    expect(await stock.newestChange()).toEqual(newest);
  });

  it.each<[title: string, wish: Wish, code: ErrorCode]>([
    ["a pet that has no entry", { petId: 404n, quantity: 1n }, "PET_NOT_FOUND"],
    ["more than there are", { petId: 8n, quantity: 1_000n }, "INSUFFICIENT_STOCK"],
    ["no pet", { quantity: 1n }, "INVALID_REQUEST"],
    ["no quantity", { petId: 7n }, "INVALID_REQUEST"],
    ["a quantity of 0", { petId: 7n, quantity: 0n }, "INVALID_REQUEST"],
    ["a negative quantity", { petId: 7n, quantity: -1n }, "INVALID_REQUEST"],
    ["0 s", { petId: 7n, quantity: 1n, ttl: { seconds: 0n } }, "INVALID_REQUEST"],
    ["less than 1 s", { petId: 7n, quantity: 1n, ttl: { nanos: 999_999_999 } }, "INVALID_REQUEST"],
    ["8 days", { petId: 7n, quantity: 1n, ttl: { seconds: 691_200n } }, "INVALID_REQUEST"],
    ["a second past 7 days", { petId: 7n, quantity: 1n, ttl: { seconds: 604_801n } }, "INVALID_REQUEST"],
    ["1,000,000,000 s", { petId: 7n, quantity: 1n, ttl: { seconds: 1_000_000_000n } }, "INVALID_REQUEST"],
    ["-1 s", { petId: 7n, quantity: 1n, ttl: { seconds: -1n } }, "INVALID_REQUEST"],
    ["a long reference", { petId: 7n, quantity: 1n, reference: "x".repeat(256) }, "INVALID_REQUEST"],
    ["a reference with a tab", { petId: 7n, quantity: 1n, reference: "a\tb" }, "INVALID_REQUEST"],
  ])("refuses to hold %s, and changes nothing", async (_title, wish, code) => {
    await stock.expectNothingChanged(async () => expectFailure(await stock.call(protocol, "createHold", wish), code));
  });

  it.each(["hold_V1StGXR8Z5jdHi6B", "7", "x".repeat(1_000)])("there is no hold %.30s", async (holdId) => {
    for (const operation of ["getHold", "commitHold", "releaseHold"] as const) {
      expectFailure(await stock.call(protocol, operation, { holdId }), "HOLD_NOT_FOUND");
    }
  });

  it("refuses the end of a hold with a bad text, and changes nothing", async () => {
    await stock.set(7n, 100n);
    const { holdId } = await hold(protocol, { petId: 7n, quantity: 1n });
    await stock.expectNothingChanged(async () => {
      for (const input of [{ reason: "x".repeat(65) }, { reason: "a\nb" }, { reference: "x".repeat(256) }]) {
        expectFailure(await stock.call(protocol, "commitHold", { holdId, ...input }), "INVALID_REQUEST");
        expectFailure(await stock.call(protocol, "releaseHold", { holdId, ...input }), "INVALID_REQUEST");
      }
    });
  });

  it("lists holds by pet and state, the newest first, page by page", async () => {
    await releaseAll();
    await stock.set(4n, 100n);
    await stock.set(7n, 100n);
    const made: string[] = [];
    for (const petId of [4n, 7n, 4n, 4n]) {
      made.unshift((await hold(protocol, { petId, quantity: 1n })).holdId);
    }
    await stock.get(protocol, "commitHold", { holdId: made[0] as string });
    const list = async (input: Input<"listHolds">) => {
      const { holds, nextPageToken } = await stock.get(protocol, "listHolds", input);
      return { ids: holds.map(({ holdId }) => holdId), nextPageToken };
    };
    expect((await list({})).ids.slice(0, 4)).toEqual(made);
    expect(await list({ state: [HoldState.HELD] })).toEqual({ ids: made.slice(1), nextPageToken: "" });
    const ofPet4 = { petId: 4n, state: [HoldState.HELD] };
    const first = await list({ ...ofPet4, pageSize: 1 });
    expect(first.ids).toEqual([made[1]]);
    const second = await list({ ...ofPet4, pageSize: 1, pageToken: first.nextPageToken });
    expect(second).toEqual({ ids: [made[3]], nextPageToken: "" });
    expect((await list({ petId: 404n })).ids).toEqual([]);
    for (const other of [{ petId: 7n, state: [HoldState.HELD] }, { petId: 4n }, {}]) {
      const input: Input<"listHolds"> = { ...other, pageSize: 1, pageToken: first.nextPageToken };
      expectFailure(await stock.call(protocol, "listHolds", input), "INVALID_PAGE_TOKEN");
    }
    const unknown = await stock.call(protocol, "listHolds", { state: [9 as HoldState] });
    expectFailure(unknown, "INVALID_REQUEST");
  });
});

it("a hold is over at its end, with nobody to end it", async () => {
  await releaseAll();
  await stock.set(7n, 10n);
  const made = await hold(rest, { petId: 7n, quantity: 10n, ttl: { seconds: 1n } });
  expect(await availability(7n)).toEqual([10n, 10n, 0n]);
  await expire(made.holdId);
  expect(Date.now()).toBeGreaterThanOrEqual(timestampMs(made.expiresAt as NonNullable<typeof made.expiresAt>));
  expect(await availability(7n)).toEqual([10n, 0n, 10n]);
  await stock.expectNothingChanged(async () => {
    for (const protocol of protocols) {
      expectFailure(await stock.call(protocol, "commitHold", { holdId: made.holdId }), "HOLD_ENDED");
      const released = await stock.get(protocol, "releaseHold", { holdId: made.holdId });
      expect(released.hold?.state).toBe(HoldState.EXPIRED);
    }
  });
  const { holds } = await stock.get(rest, "listHolds", { state: [HoldState.EXPIRED] });
  expect(holds.map(({ holdId }) => holdId)).toContain(made.holdId);
  await stock.get(rest, "adjustInventory", { petId: 7n, adjustment: { delta: -10n } });
});

it("64 clients that hold one of 40 get 40 holds, over all protocols", async () => {
  await releaseAll();
  await stock.set(3n, 40n);
  const outcomes = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      stock.call(protocols[index % protocols.length] ?? rest, "createHold", { petId: 3n, quantity: 1n }),
    ),
  );
  const made = outcomes.flatMap(({ message }) => message?.hold?.holdId ?? []);
  expect(new Set(made).size).toBe(40);
  expect(await availability(3n)).toEqual([40n, 40n, 0n]);
});

describe("over REST", () => {
  async function send(method: string, path: string, body?: string) {
    const http = createHttp1Client(stock.server);
    const headers = { authorization: `Bearer ${stock.key.key}`, "content-type": "application/json" };
    const answer = await http.send({ method, path, headers, body });
    http.close();
    return answer;
  }

  it("a new hold is 201, written in full", async () => {
    await stock.set(7n, 100n);
    const answer = await send("POST", "/v1/holds", '{"petId": 7, "quantity": 1, "ttl": "900.5s"}');
    expect(answer.status).toBe(201);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    const made = JSON.parse(answer.text);
    expect(made).toEqual({
      holdId: expect.stringMatching(/^hold_/),
      petId: 7,
      quantity: 1,
      state: "held",
      createdAt: time,
      expiresAt: time,
      keyId: stock.key.id,
    });
    expect(Date.parse(made.expiresAt) - Date.parse(made.createdAt)).toBe(900_500);
  });

  it("Location leads to a new hold, from a repetition, too", async () => {
    await stock.set(7n, 100n);
    const http = createHttp1Client(stock.server);
    const authorization = `Bearer ${stock.key.key}`;
    const headers = { authorization, "content-type": "application/json", "idempotency-key": crypto.randomUUID() };
    const request = { method: "POST", path: "/v1/holds", headers, body: '{"petId": 7, "quantity": 1}' };
    const [made, repeated] = [await http.send(request), await http.send(request)];
    const path = made.headers.get("location") ?? "";
    expect([made.status, repeated.status, repeated.headers.get("location")]).toEqual([201, 201, path]);
    expect((await http.send({ method: "GET", path, headers: { authorization } })).text).toBe(made.text);
    http.close();
  });

  it.each(["", "{}", "null", '{"reason": "sale"}'])("the body of an end may be %j", async (body) => {
    await stock.set(7n, 100n);
    for (const verb of ["commit", "release"]) {
      const { holdId } = await hold(rest, { petId: 7n, quantity: 1n });
      const answer = await send("POST", `/v1/holds/${holdId}:${verb}`, body);
      expect([answer.status, JSON.parse(answer.text).state]).toEqual([
        200,
        verb === "commit" ? "committed" : "released",
      ]);
    }
  });

  it.each(['"900"', "900", '"900"', '"1e9s"', '"-1s"', '"0s"', '"8d"', '"15m"', '"s"', '""', '" 1s"', "{}", "[]"])(
    "the ttl may not be %s, and nothing changes",
    async (ttl) => {
      await stock.expectNothingChanged(async () =>
        expectErrorBody(
          await send("POST", "/v1/holds", `{"petId": 7, "quantity": 1, "ttl": ${ttl}}`),
          "INVALID_REQUEST",
        ),
      );
    },
  );

  it("the states of a list are names", async () => {
    expect((await send("GET", "/v1/holds?state=committed&state=released&pageSize=1")).status).toBe(200);
    expectErrorBody(await send("GET", "/v1/holds?state=kept"), "INVALID_REQUEST");
    expectErrorBody(await send("GET", "/v1/holds?petId=x"), "INVALID_REQUEST");
  });
});
