import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { HoldState } from "../../../gen/petstore/v1/hold_pb.ts";
import { StockChangeKind, StockChangeSchema } from "../../../gen/petstore/v1/stock_change_pb.ts";
import { operations } from "../../support/operations.ts";
import type { StockCall } from "./call.ts";
import { findContradiction } from "./contradiction.ts";

const petId = 7n;
const status = 1;

/** Long after all calls. */
const future = 1_000_000;

type Moments = readonly [startMs: number, endMs: number];

/** Such as `a 3>2`: a change with the reference a, from 3 to 2. */
type ChangeText = string;

/** The stock of one pet was imported as 1; then calls have come, and have left these changes. */
interface Story {
  readonly calls: readonly StockCall[];
  readonly changes?: readonly ChangeText[];
  /** Those that the calls have created, by default. */
  readonly holdIds?: readonly string[];
}

function contradictionIn({ calls, changes = [], holdIds = createdBy(calls) }: Story): string | undefined {
  const first = create(StockChangeSchema, {
    revision: 1n,
    petId,
    after: 1n,
    kind: StockChangeKind.IMPORT,
    cursor: "1",
  });
  const history = [first, ...changes.map(parseChange)];
  return findContradiction({ items: [itemOf(1)], holds: [], head: 1, history, holdIds }, calls);
}

function createdBy(calls: readonly StockCall[]): string[] {
  return calls.flatMap((call) => (call.operation === "createHold" ? (call.message?.hold?.holdId ?? []) : []));
}

function parseChange(text: ChangeText, index: number) {
  const [, reference = "", before = "", after = "", kind = "ADJUST"] =
    /^(\S+) (-?\d+)>(-?\d+)(?: (\w+))?$/.exec(text) ?? [];
  return create(StockChangeSchema, {
    revision: BigInt(index + 2),
    cursor: String(index + 2),
    petId,
    before: BigInt(before),
    after: BigInt(after),
    reference,
    kind: StockChangeKind[kind as keyof typeof StockChangeKind],
  });
}

function itemOf(quantity: number) {
  return create(operations.getInventory.output, { item: { petId, quantity: BigInt(quantity), status } }).item as never;
}

/** A call with what most calls have in common. The answer is a message, or the code of a refusal. */
function call<O extends StockCall["operation"]>(
  operation: O,
  [startMs, endMs]: Moments,
  input: object,
  answer: object | string,
  other: Partial<StockCall> = {},
): StockCall {
  const { output } = operations[operation];
  const outcome = typeof answer === "string" ? { code: answer } : { message: create(output, answer as never) };
  return { operation, input, startMs, endMs, isReplayed: false, attempts: 1, ...outcome, ...other } as StockCall;
}

/** An adjustment. Its tag is made of the reference, unless another one is given. */
function adjust(
  reference: string,
  delta: number,
  moments: Moments,
  left: number | string,
  other: Other = {},
): StockCall {
  const { etag, tag = reference, ...rest } = other;
  const answer = typeof left === "string" ? left : { item: itemOf(left), etag: `"${tag}"` };
  const input = { petId, adjustment: { delta: BigInt(delta), reference }, etag };
  return call("adjustInventory", moments, input, answer, rest);
}

/** `etag` is what the call asks for, `tag` what it is answered. */
type Other = Partial<StockCall> & { readonly etag?: string; readonly tag?: string };

function set(reference: string, quantity: number, moments: Moments): StockCall {
  const input = { petId, update: { quantity: BigInt(quantity), reference } };
  return call("updateInventory", moments, input, { item: itemOf(quantity), etag: `"${reference}"` });
}

function get(quantity: number, tag: string, moments: Moments): StockCall {
  return call("getInventory", moments, { petId }, { item: itemOf(quantity), etag: `"${tag}"` });
}

function list(quantity: number, cursor: string, moments: Moments): StockCall {
  return call("listInventory", moments, {}, { items: [itemOf(quantity)], cursor });
}

function hold(holdId: string, quantity: number, moments: Moments, expiresAtMs = future): StockCall {
  const held = { holdId, petId, quantity: BigInt(quantity), state: HoldState.HELD };
  const answer = { hold: { ...held, expiresAt: timestampFromMs(expiresAtMs) } };
  return call("createHold", moments, { petId, quantity: BigInt(quantity) }, answer);
}

function refusedHold(quantity: number, moments: Moments): StockCall {
  return call("createHold", moments, { petId, quantity: BigInt(quantity) }, "INSUFFICIENT_STOCK");
}

function commit(holdId: string, reference: string, moments: Moments, code?: string): StockCall {
  return call("commitHold", moments, { holdId, reference }, code ?? { hold: { holdId, state: HoldState.COMMITTED } });
}

function release(holdId: string, moments: Moments, state: HoldState | string = HoldState.RELEASED): StockCall {
  return call("releaseHold", moments, { holdId }, typeof state === "string" ? state : { hold: { holdId, state } });
}

function available(held: number, moments: Moments): StockCall {
  const answer = { availability: { petId, quantity: 1n, held: BigInt(held), available: BigInt(1 - held) } };
  return call("getAvailability", moments, { petId }, answer);
}

/** A batch of takes of one each: what is left after each, or the code of its refusal. */
function batch(moments: Moments, lefts: readonly (number | string)[], atomic = false): StockCall {
  const changes = lefts.map((_, index) => ({ petId, delta: -1n, reference: `b${index}` }));
  const results = lefts.map((left) =>
    typeof left === "string" ? { petId, error: { code: left } } : { petId, item: itemOf(left) },
  );
  return call("batchUpdateInventory", moments, { changes, atomic }, { results });
}

function refusedBatch(moments: Moments, text: string): StockCall {
  const changes = [0, 1].map((index) => ({ petId, delta: -1n, reference: `b${index}` }));
  return call("batchUpdateInventory", moments, { changes, atomic: true }, "INSUFFICIENT_STOCK", { text });
}

const key = { idempotencyKey: "k" };
const sale = adjust("a", -1, [0, 1], 0, key);
const replay = { ...sale, startMs: 2, endMs: 3, isReplayed: true };

const rightStories: Readonly<Record<string, Story>> = {
  "nothing at all": { calls: [] },
  "one take, and one that is refused": {
    calls: [adjust("a", -1, [0, 1], 0), adjust("b", -1, [2, 3], "INSUFFICIENT_STOCK")],
    changes: ["a 1>0"],
  },
  "takes at once, of which the later one is done": {
    calls: [adjust("a", -1, [0, 9], "INSUFFICIENT_STOCK"), adjust("b", -1, [1, 9], 0)],
    changes: ["b 1>0"],
  },
  "reads of either count during a write": {
    calls: [set("a", 5, [0, 9]), get(1, "0", [1, 2]), get(5, "a", [3, 4])],
    changes: ["a 1>5 SET"],
  },
  "a tag that matches, and is spent then": {
    calls: [
      get(1, "0", [0, 1]),
      adjust("a", 1, [2, 9], 2, { etag: '"0"' }),
      adjust("b", 1, [2, 9], "PRECONDITION_FAILED", { etag: '"0"' }),
    ],
    changes: ["a 1>2"],
  },
  "a hold that keeps the last one until it is released": {
    calls: [
      hold("h", 1, [0, 1]),
      adjust("a", -1, [2, 3], "INSUFFICIENT_STOCK"),
      release("h", [4, 5]),
      adjust("b", -1, [6, 7], 0),
    ],
    changes: ["b 1>0"],
  },
  "a hold that is committed twice, and counts once": {
    calls: [hold("h", 1, [0, 1]), commit("h", "a", [2, 3]), commit("h", "a", [4, 5]), available(0, [-2, -1])],
    changes: ["a 1>0 HOLD"],
  },
  "a hold that is over": {
    calls: [
      hold("h", 1, [0, 1], 1_000),
      available(1, [2, 3]),
      available(0, [1_500, 1_501]),
      commit("h", "", [1_502, 1_503], "HOLD_ENDED"),
    ],
  },
  "a hold that ends while it is asked for": {
    calls: [hold("h", 1, [0, 1], 1_000), available(0, [990, 1_010]), available(1, [991, 1_011])],
  },
  "a batch of which one change is refused": { calls: [batch([0, 1], [0, "INSUFFICIENT_STOCK"])], changes: ["b0 1>0"] },
  "an atomic batch that is refused": { calls: [refusedBatch([0, 1], "changes[1]: too few")] },
  "a list at its cursor": {
    calls: [set("a", 5, [0, 9]), list(1, "1", [1, 2]), list(5, "2", [3, 4])],
    changes: ["a 1>5 SET"],
  },
  "a replay": { calls: [sale, replay], changes: ["a 1>0"] },
  "a replay to a client that has put the same request together again": {
    calls: [sale, { ...replay, input: structuredClone(replay.input) } as StockCall],
    changes: ["a 1>0"],
  },
  "the replay of a call whose answer was lost": {
    calls: [{ ...sale, isReplayed: true, attempts: 2 }],
    changes: ["a 1>0"],
  },
  "a key that is used for another request": {
    calls: [sale, adjust("b", -2, [2, 3], "IDEMPOTENCY_KEY_REUSED", key)],
    changes: ["a 1>0"],
  },
  "a call that is done when it is sent again, because it was refused": {
    calls: [adjust("a", -2, [0, 1], "INSUFFICIENT_STOCK", key), set("b", 2, [2, 3]), adjust("a", -2, [4, 5], 0, key)],
    changes: ["b 1>2 SET", "a 2>0"],
  },
};

it.each(Object.entries(rightStories))("explains %s", (_title, story) => {
  expect(contradictionIn(story)).toBeUndefined();
});

const wrongStories: Readonly<Record<string, Story>> = {
  "two takes of the last one": {
    calls: [adjust("a", -1, [0, 9], 0), adjust("b", -1, [0, 9], 0)],
    changes: ["a 1>0", "b 1>0"],
  },
  "two takes of the last one, of which the history knows one": {
    calls: [adjust("a", -1, [0, 9], 0), adjust("b", -1, [0, 9], 0)],
    changes: ["a 1>0"],
  },
  "a take below nothing": {
    calls: [adjust("a", -1, [0, 9], 0), adjust("b", -1, [0, 9], -1)],
    changes: ["a 1>0", "b 0>-1"],
  },
  "a take that is refused though one is left": { calls: [adjust("a", -1, [0, 1], "INSUFFICIENT_STOCK")] },
  "a read of an older count after a newer one": {
    calls: [set("a", 5, [0, 9]), get(5, "a", [1, 2]), get(1, "0", [3, 4])],
    changes: ["a 1>5 SET"],
  },
  "a lost update": { calls: [set("a", 5, [0, 1]), get(1, "0", [2, 3])], changes: ["a 1>5 SET"] },
  "an update that the next one overwrites unseen": {
    calls: [adjust("a", 1, [0, 1], 2), adjust("b", 1, [2, 3], 2)],
    changes: ["a 1>2", "b 1>2"],
  },
  "an update that the history does not have": { calls: [set("a", 5, [0, 1])] },
  "a change of nobody": { calls: [], changes: ["a 1>0"] },
  "a change of a call that was refused": {
    calls: [adjust("a", -2, [0, 1], "INSUFFICIENT_STOCK")],
    changes: ["a 1>-1"],
  },
  "changes in another order than in time": {
    calls: [adjust("a", 1, [0, 1], 3), adjust("b", 1, [2, 3], 2)],
    changes: ["b 1>2", "a 2>3"],
  },
  "two writes with one tag": {
    calls: [
      get(1, "0", [0, 1]),
      adjust("a", 1, [2, 9], 2, { etag: '"0"' }),
      adjust("b", 1, [2, 9], 3, { etag: '"0"' }),
    ],
    changes: ["a 1>2", "b 2>3"],
  },
  "a write that leaves the tag": {
    calls: [get(1, "0", [0, 1]), adjust("a", 1, [2, 3], 2, { tag: "0" })],
    changes: ["a 1>2"],
  },
  "a batch that leaves the tag": {
    calls: [get(1, "0", [0, 1]), batch([2, 3], [0]), get(0, "0", [4, 5])],
    changes: ["b0 1>0"],
  },
  "more holds than there is stock": { calls: [hold("g", 1, [0, 9]), hold("h", 1, [0, 9])] },
  "a take of what is held": { calls: [hold("h", 1, [0, 1]), adjust("a", -1, [2, 3], 0)], changes: ["a 1>0"] },
  "a hold of nobody": { calls: [], holdIds: ["h"] },
  "a hold that is lost": { calls: [hold("h", 1, [0, 1])], holdIds: [] },
  "a hold that is refused though it could be": {
    calls: [hold("h", 1, [0, 1]), release("h", [2, 3]), refusedHold(1, [4, 5])],
  },
  "a hold that is committed and released": {
    calls: [hold("h", 1, [0, 1]), commit("h", "a", [2, 9]), release("h", [2, 9])],
    changes: ["a 1>0 HOLD"],
  },
  "a hold that is taken off twice": {
    calls: [hold("h", 1, [0, 1]), commit("h", "a", [2, 3]), commit("h", "a", [4, 5])],
    changes: ["a 1>0 HOLD", "a 0>-1 HOLD"],
  },
  "a hold that ends too early": { calls: [hold("h", 1, [0, 1], 1_000), available(0, [900, 901])] },
  "a hold that ends too late": { calls: [hold("h", 1, [0, 1], 1_000), available(1, [1_100, 1_101])] },
  "a batch with another's change in it": {
    calls: [batch([0, 9], [0, -1]), adjust("a", 1, [0, 9], 1)],
    changes: ["b0 1>0", "a 0>1", "b1 1>0"],
  },
  "half of an atomic batch": { calls: [batch([0, 1], [0, "INSUFFICIENT_STOCK"], true)], changes: ["b0 1>0"] },
  "an atomic batch that is refused for the wrong change": { calls: [refusedBatch([0, 1], "changes[0]: too few")] },
  "an atomic batch that is refused, and leaves a change": {
    calls: [refusedBatch([0, 1], "changes[1]: too few")],
    changes: ["b0 1>0"],
  },
  "a list behind its cursor": { calls: [set("a", 5, [0, 9]), list(1, "2", [1, 2])], changes: ["a 1>5 SET"] },
  "a list before its cursor": { calls: [set("a", 5, [0, 9]), list(5, "1", [1, 2])], changes: ["a 1>5 SET"] },
  "a list without a write that was answered": {
    calls: [set("a", 5, [0, 1]), list(1, "1", [2, 3])],
    changes: ["a 1>5 SET"],
  },
  "a call that is done twice under one key": {
    calls: [sale, adjust("a", -1, [2, 3], -1, key)],
    changes: ["a 1>0", "a 0>-1"],
  },
  "a replay of nothing": { calls: [replay], changes: ["a 1>0"] },
  "a replay with another answer": {
    calls: [sale, { ...replay, message: create(operations.adjustInventory.output, { item: itemOf(1) }) } as StockCall],
    changes: ["a 1>0"],
  },
  "a key that is taken for another request": {
    calls: [sale, adjust("b", 1, [2, 3], 1, { idempotencyKey: "k" })],
    changes: ["a 1>0", "b 0>1"],
  },
};

it.each(Object.entries(wrongStories))("finds %s", (_title, story) => {
  expect(contradictionIn(story)).toBeDefined();
});

it("finds a gap in the history", () => {
  const changes = [1n, 3n].map((revision) => create(StockChangeSchema, { revision, petId: revision, after: 1n }));
  expect(findContradiction({ items: [], holds: [], head: 2, history: changes, holdIds: [] }, [])).toBe(
    "revision 3 stands where 2 should be",
  );
});
