import type { InventoryItem } from "../../../gen/petstore/v1/inventory_pb.ts";
import { type StockChange, StockChangeKind } from "../../../gen/petstore/v1/stock_change_pb.ts";
import { int64Max, int64Min } from "../../support/fixture.ts";
import type { Interval } from "../linearisation.ts";
import type { Entries, Entry, StockState } from "./state.ts";

/** A change that is asked for: a count to set, or a delta to add. */
export interface Change {
  readonly petId: bigint;
  readonly quantity?: bigint | undefined;
  readonly delta?: bigint | undefined;
  readonly allowNegative?: boolean | undefined;
  readonly etag?: string | undefined;
  readonly reference?: string | undefined;
}

/** What a change leaves in the history. */
interface Trace {
  readonly petId: bigint;
  readonly before: bigint;
  readonly after: bigint;
  readonly kind: StockChangeKind;
  readonly reference: string | undefined;
}

/** Changes that may be made together, on top of a state. */
export class Draft {
  readonly #state: StockState;
  /** A copy, once there is a change. */
  #entries: Entries;
  readonly #traces: Trace[] = [];
  readonly #tags: string[] = [];

  constructor(state: StockState) {
    this.#state = state;
    this.#entries = state.entries;
  }

  /** Makes a change, or leaves it where it is refused. Returns whether it must or may end with this code. */
  try(change: Change, code: string | undefined, call: Interval): boolean {
    const { petId, delta, etag } = change;
    const entry = this.#entries.get(petId);
    if (entry === undefined) {
      return code === "PET_NOT_FOUND";
    }
    // A tag that nobody has seen cannot be the caller's.
    if (etag !== undefined && etag !== "*" && etag !== entry.etag) {
      return code === "PRECONDITION_FAILED";
    }
    const after = delta === undefined ? (change.quantity as bigint) : entry.quantity + delta;
    if (delta !== undefined && delta < 0n && change.allowNegative !== true) {
      const { least, most } = this.#state.held(petId, call);
      if (code === "INSUFFICIENT_STOCK" || after < least) {
        return code === "INSUFFICIENT_STOCK" && after < most;
      }
    }
    if (after > int64Max || after < int64Min) {
      return code === "QUANTITY_OUT_OF_RANGE";
    }
    if (code === undefined) {
      this.write(change, after, delta === undefined ? StockChangeKind.SET : StockChangeKind.ADJUST);
    }
    return code === undefined;
  }

  write({ petId, reference }: Change, after: bigint, kind: StockChangeKind): void {
    const entry = this.#entries.get(petId) as Entry;
    this.#traces.push({ petId, before: entry.quantity, after, kind, reference });
    this.#set(petId, { ...entry, quantity: after, etag: undefined });
  }

  /** Whether an answer shows a pet's entry as it is. */
  has(item: InventoryItem | undefined): boolean {
    const entry = item && this.#entries.get(item.petId);
    return entry !== undefined && entry.quantity === item?.quantity && entry.status === item.status;
  }

  /** Notes the tag that an answer shows. Returns whether it may be the pet's: a new one where none was seen. */
  show(petId: bigint, etag: string): boolean {
    const entry = this.#entries.get(petId) as Entry;
    if (entry.etag !== undefined) {
      return entry.etag === etag;
    }
    const tag = `${petId} ${etag}`;
    this.#tags.push(tag);
    this.#set(petId, { ...entry, etag });
    return /^"[^"]+"$/.test(etag) && !this.#state.shown.has(tag);
  }

  #set(petId: bigint, entry: Entry): void {
    this.#entries = new Map(this.#entries).set(petId, entry);
  }

  /** Makes it the state. Returns what takes it back; undefined where the history goes on with other changes. */
  keep(): (() => void) | "nothing" | undefined {
    const state = this.#state;
    if (!this.#traces.every((trace, index) => isChange(trace, state.history[state.head + index]))) {
      return undefined;
    }
    if (this.#traces.length + this.#tags.length === 0) {
      return "nothing";
    }
    const before = state.entries;
    state.entries = this.#entries;
    state.head += this.#traces.length;
    for (const tag of this.#tags) {
      state.shown.add(tag);
    }
    return () => {
      state.entries = before;
      state.head -= this.#traces.length;
      for (const tag of this.#tags) {
        state.shown.delete(tag);
      }
    };
  }
}

function isChange(trace: Trace, change: StockChange | undefined): boolean {
  return (Object.keys(trace) as (keyof Trace)[]).every((name) => trace[name] === change?.[name]);
}
