import { equals } from "@bufbuild/protobuf";
import type { Hold } from "../../../gen/petstore/v1/hold_pb.ts";
import { StockChangeSchema } from "../../../gen/petstore/v1/stock_change_pb.ts";
import type { Step } from "../linearisation.ts";
import type { CallOf } from "./call.ts";
import { Draft } from "./draft.ts";
import { type ModelHold, type StockState, statesDuring } from "./state.ts";

/** One entry, with its tag. */
export function getInventory(state: StockState, { input, message, code }: CallOf<"getInventory">): Step {
  const petId = BigInt(input.petId ?? 0n);
  if (!state.entries.has(petId)) {
    return code === "PET_NOT_FOUND" ? "nothing" : undefined;
  }
  const draft = new Draft(state);
  const isRight = message?.item?.petId === petId && draft.has(message.item) && draft.show(petId, message.etag);
  return isRight ? draft.keep() : undefined;
}

/** What is available, and what is held. */
export function getAvailability(state: StockState, call: CallOf<"getAvailability">): Step {
  const petId = BigInt(call.input.petId ?? 0n);
  const entry = state.entries.get(petId);
  if (entry === undefined) {
    return call.code === "PET_NOT_FOUND" ? "nothing" : undefined;
  }
  const answer = call.message?.availability;
  if (answer?.petId !== petId || answer.quantity !== entry.quantity) {
    return undefined;
  }
  const { least, most } = state.held(petId, call);
  const isRight = answer.held >= least && answer.held <= most && answer.available === answer.quantity - answer.held;
  return isRight ? "nothing" : undefined;
}

/** One hold, in its state. */
export function getHold(state: StockState, call: CallOf<"getHold">): Step {
  const hold = state.holds.get(call.input.holdId ?? "");
  if (hold === undefined) {
    return call.code === "HOLD_NOT_FOUND" ? "nothing" : undefined;
  }
  return isHold(hold, call.message?.hold, call) ? "nothing" : undefined;
}

/** The newest holds, of a pet or of all. */
export function listHolds(state: StockState, call: CallOf<"listHolds">): Step {
  const { petId, pageSize = 0 } = call.input;
  const expected = [...state.holds.values()]
    .filter((hold) => petId === undefined || hold.petId === petId)
    .slice(-pageSize);
  const holds = call.message?.holds.toReversed() ?? [];
  const isRight = holds.length === expected.length && expected.every((hold, index) => isHold(hold, holds[index], call));
  return isRight ? "nothing" : undefined;
}

function isHold(hold: ModelHold, answer: Hold | undefined, call: CallOf<"getHold" | "listHolds">): boolean {
  const isSame = answer?.holdId === hold.id && answer.petId === hold.petId && answer.quantity === hold.quantity;
  return isSame && statesDuring(hold, call).includes(answer.state);
}

/** The whole list, which is the state at its cursor, exactly. */
export function listInventory(state: StockState, { message }: CallOf<"listInventory">): Step {
  const draft = new Draft(state);
  const { items = [], cursor } = message ?? {};
  const isAtHead = cursor === state.history[state.head - 1]?.cursor;
  return isAtHead && items.length === state.entries.size && items.every((item) => draft.has(item))
    ? "nothing"
    : undefined;
}

/** The newest changes. */
export function listStockChanges(state: StockState, { input, message }: CallOf<"listStockChanges">): Step {
  const { head, history } = state;
  const expected = history.slice(Math.max(0, head - (input.pageSize ?? 0)), head);
  const changes = message?.changes.toReversed() ?? [];
  const isRight =
    changes.length === expected.length &&
    changes.every((change, index) => equals(StockChangeSchema, change, expected[index] as typeof change));
  return isRight ? "nothing" : undefined;
}
