import { HoldState } from "../../../gen/petstore/v1/hold_pb.ts";
import { StockChangeKind } from "../../../gen/petstore/v1/stock_change_pb.ts";
import type { Step } from "../linearisation.ts";
import type { CallOf } from "./call.ts";
import { type Change, Draft } from "./draft.ts";
import { type ModelHold, type StockState, statesDuring, toModelHold } from "./state.ts";

/** An update or an adjustment. */
export function changeStock(state: StockState, call: CallOf<"updateInventory" | "adjustInventory">): Step {
  const { petId, etag } = call.input;
  const what = call.operation === "updateInventory" ? call.input.update : call.input.adjustment;
  const change = { ...what, petId, etag } as Change;
  if (call.code === undefined && !state.isNext(change.reference)) {
    return undefined;
  }
  const draft = new Draft(state);
  if (!draft.try(change, call.code, call)) {
    return undefined;
  }
  if (call.code !== undefined) {
    return "nothing";
  }
  const { item, etag: answered = "" } = call.message ?? {};
  return draft.has(item) && item?.petId === petId && draft.show(change.petId, answered) ? draft.keep() : undefined;
}

/** A batch: all of its changes next to each other in the history. */
export function changeInBatch(state: StockState, call: CallOf<"batchUpdateInventory">): Step {
  const changes = call.input.changes as readonly Change[];
  const draft = new Draft(state);
  if (call.code !== undefined) {
    // The changes before the refused one would have been done.
    const refused = Number(/^changes\[(\d+)\]: /.exec(call.text ?? "")?.[1]);
    const codeAt = (index: number) => (index < refused ? undefined : call.code);
    const fits = changes.slice(0, refused + 1).every((change, index) => draft.try(change, codeAt(index), call));
    return call.input.atomic === true && refused < changes.length && fits ? "nothing" : undefined;
  }
  const results = call.message?.results ?? [];
  const first = results.findIndex(({ error }) => error === undefined);
  if (results.length !== changes.length || (first >= 0 && !state.isNext(changes[first]?.reference))) {
    return undefined;
  }
  const isRight = results.every(({ petId, item, error }, index) => {
    const change = changes[index] as Change;
    const isRefused = error !== undefined;
    const fits = petId === change.petId && draft.try(change, error?.code, call);
    return fits && isRefused !== draft.has(item) && !(isRefused && call.input.atomic === true);
  });
  return isRight ? draft.keep() : undefined;
}

/** A new hold. */
export function createHold(state: StockState, { input, message, code, ...call }: CallOf<"createHold">): Step {
  const { petId, quantity } = input as { petId: bigint; quantity: bigint };
  const entry = state.entries.get(petId);
  if (entry === undefined) {
    return code === "PET_NOT_FOUND" ? "nothing" : undefined;
  }
  const { least, most } = state.held(petId, call);
  if (code !== undefined) {
    return code === "INSUFFICIENT_STOCK" && quantity > entry.quantity - most ? "nothing" : undefined;
  }
  const hold = message?.hold;
  const isNext = hold?.holdId === state.holdIds[state.holds.size];
  const isRight = hold?.petId === petId && hold.quantity === quantity && hold.reference === input.reference;
  if (!isNext || !isRight || hold.state !== HoldState.HELD || quantity > entry.quantity - least) {
    return undefined;
  }
  return state.setHold(toModelHold(hold));
}

/** A hold's quantity that is taken off the stock. */
export function commitHold(state: StockState, call: CallOf<"commitHold">): Step {
  const hold = state.holds.get(call.input.holdId ?? "");
  if (hold === undefined || call.code !== undefined) {
    return isRefused(hold, call, [HoldState.EXPIRED, HoldState.RELEASED]) ? "nothing" : undefined;
  }
  if (call.message?.hold?.state !== HoldState.COMMITTED) {
    return undefined;
  }
  if (hold.state === HoldState.COMMITTED) {
    return "nothing";
  }
  const entry = state.entries.get(hold.petId);
  const change = { petId: hold.petId, reference: call.input.reference ?? hold.reference };
  if (entry === undefined || !state.isNext(change.reference) || !statesDuring(hold, call).includes(HoldState.HELD)) {
    return undefined;
  }
  const draft = new Draft(state);
  draft.write(change, entry.quantity - hold.quantity, StockChangeKind.HOLD);
  const undo = draft.keep();
  if (undo === undefined || undo === "nothing") {
    return undefined;
  }
  const undoHold = state.setHold({ ...hold, state: HoldState.COMMITTED });
  return () => {
    undoHold();
    undo();
  };
}

/** A hold that is given back. */
export function releaseHold(state: StockState, call: CallOf<"releaseHold">): Step {
  const hold = state.holds.get(call.input.holdId ?? "");
  if (hold === undefined || call.code !== undefined) {
    return isRefused(hold, call, [HoldState.COMMITTED]) ? "nothing" : undefined;
  }
  const answered = call.message?.hold?.state;
  if (answered === HoldState.RELEASED && hold.state === HoldState.HELD) {
    const isHeld = statesDuring(hold, call).includes(HoldState.HELD);
    return isHeld ? state.setHold({ ...hold, state: HoldState.RELEASED }) : undefined;
  }
  const isOver = answered === HoldState.RELEASED || answered === HoldState.EXPIRED;
  return isOver && statesDuring(hold, call).includes(answered) ? "nothing" : undefined;
}

/** Whether the end of a hold is refused as it must be, or may be where the hold expires meanwhile. */
function isRefused(
  hold: ModelHold | undefined,
  call: CallOf<"commitHold" | "releaseHold">,
  states: readonly HoldState[],
): boolean {
  if (hold === undefined) {
    return call.code === "HOLD_NOT_FOUND";
  }
  return call.code === "HOLD_ENDED" && statesDuring(hold, call).some((state) => states.includes(state));
}
