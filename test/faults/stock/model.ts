import { isDeepStrictEqual } from "node:util";
import { type DescMessage, equals, type Message } from "@bufbuild/protobuf";
import { operations } from "../../support/operations.ts";
import type { SequentialModel, Step } from "../linearisation.ts";
import type { StockCall } from "./call.ts";
import { getAvailability, getHold, getInventory, listHolds, listInventory, listStockChanges } from "./reads.ts";
import { type ModelStart, StockState } from "./state.ts";
import { changeInBatch, changeStock, commitHold, createHold, releaseHold } from "./writes.ts";

/**
 * What the contract says of stock, holds, versions, history and idempotency keys, as it would be if calls came one after
 * the other. It shares no code with the service. Source: docs/contract.md
 *
 * The service's history is the order of writes. Each write must be the next change there, with the count before and
 * after, the kind and the reference. So none may be missing, be there twice or out of order, and what every answer shows
 * must be right at one place in that order. Holds have an order of their own: that of the service's list. Where the model
 * has made all calls, it must have come to the end of both: no change and no hold may come from nobody.
 */
export class StockModel implements SequentialModel<StockCall> {
  readonly #state: StockState;
  /** The calls that were done first under an idempotency key. */
  readonly #done = new Map<string, StockCall>();

  constructor(start: ModelStart) {
    this.#state = new StockState(start);
  }

  /** How many changes of the history have been made. */
  get head(): number {
    return this.#state.head;
  }

  /** How many holds have been created. */
  get holdCount(): number {
    return this.#state.holds.size;
  }

  /** The tags: the same calls in another order may have shown other ones. All else follows from the calls. */
  get remainder(): string {
    return Array.from(this.#state.entries.values(), ({ etag }) => etag ?? "").join(" ");
  }

  apply(call: StockCall): Step {
    const { idempotencyKey } = call;
    const first = idempotencyKey === undefined ? undefined : this.#done.get(idempotencyKey);
    if (first !== undefined) {
      return isLaterCall(call, first) ? "nothing" : undefined;
    }
    // An attempt that has had no answer may be what is replayed.
    const step = call.isReplayed && call.attempts === 1 ? undefined : this.#run(call);
    if (step === undefined || idempotencyKey === undefined || call.code !== undefined) {
      return step;
    }
    this.#done.set(idempotencyKey, call);
    return () => {
      this.#done.delete(idempotencyKey);
      if (step !== "nothing") {
        step();
      }
    };
  }

  #run(call: StockCall): Step {
    switch (call.operation) {
      case "updateInventory":
      case "adjustInventory":
        return changeStock(this.#state, call);
      case "batchUpdateInventory":
        return changeInBatch(this.#state, call);
      case "createHold":
        return createHold(this.#state, call);
      case "commitHold":
        return commitHold(this.#state, call);
      case "releaseHold":
        return releaseHold(this.#state, call);
      case "getInventory":
        return getInventory(this.#state, call);
      case "getAvailability":
        return getAvailability(this.#state, call);
      case "getHold":
        return getHold(this.#state, call);
      case "listHolds":
        return listHolds(this.#state, call);
      case "listInventory":
        return listInventory(this.#state, call);
      case "listStockChanges":
        return listStockChanges(this.#state, call);
    }
  }
}

/** Whether a call with a key that another one was done under is answered as that one, or refused as another request. */
function isLaterCall(call: StockCall, first: StockCall): boolean {
  if (call.operation !== first.operation || !isDeepStrictEqual(call.input, first.input)) {
    return call.code === "IDEMPOTENCY_KEY_REUSED";
  }
  const schema: DescMessage = operations[first.operation].output;
  const isSame = call.message !== undefined && equals(schema, call.message as Message, first.message as Message);
  return call.code === undefined && call.isReplayed && isSame;
}
