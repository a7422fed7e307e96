import type { StockChange } from "../../../gen/petstore/v1/stock_change_pb.ts";
import { findUnplaceable } from "../linearisation.ts";
import { describeCall, type StockCall } from "./call.ts";
import { StockModel } from "./model.ts";
import type { ModelStart } from "./state.ts";

/**
 * Tells why the calls of many clients, and the history that they have left, cannot be those of a store in which one call
 * comes after the other; undefined where they can. The history must count from 1 without a gap, each change must begin
 * where the pet's change before has ended, each must be one call's, and all answers must be right at one moment between
 * their call's beginning and its end.
 */
export function findContradiction(start: ModelStart, calls: readonly StockCall[]): string | undefined {
  const broken = findBrokenChange(start.history);
  if (broken !== undefined) {
    return broken;
  }
  const model = new StockModel(start);
  const stuck = findUnplaceable(model, calls);
  if (stuck !== undefined) {
    const meanwhile = calls.filter(
      (call) => call !== stuck && call.startMs <= stuck.endMs && call.endMs >= stuck.startMs,
    );
    return ["no order explains", describeCall(stuck), "meanwhile:", ...meanwhile.map(describeCall)].join("\n");
  }
  if (model.head < start.history.length) {
    return `nobody has made revision ${model.head + 1}`;
  }
  return model.holdCount < start.holdIds.length ? `nobody has made ${start.holdIds[model.holdCount]}` : undefined;
}

function findBrokenChange(history: readonly StockChange[]): string | undefined {
  const counts = new Map<bigint, bigint>();
  for (const [index, { revision, petId, before, after }] of history.entries()) {
    if (revision !== BigInt(index + 1)) {
      return `revision ${revision} stands where ${index + 1} should be`;
    }
    if (before !== counts.get(petId)) {
      return `revision ${revision} changes pet ${petId} from ${before}, and it was ${counts.get(petId)}`;
    }
    counts.set(petId, after);
  }
  return undefined;
}
