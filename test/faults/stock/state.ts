import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type Hold, HoldState } from "../../../gen/petstore/v1/hold_pb.ts";
import type { InventoryItem } from "../../../gen/petstore/v1/inventory_pb.ts";
import type { StockChange } from "../../../gen/petstore/v1/stock_change_pb.ts";
import type { Interval } from "../linearisation.ts";

/** How far the clocks of the server and of its clients may be apart, in milliseconds. */
const clockToleranceMs = 20;

/** What the model knows of one pet. */
export interface Entry {
  readonly quantity: bigint;
  readonly status: number;
  /** The entity tag; undefined where no answer has shown it yet. */
  readonly etag: string | undefined;
}

export type Entries = ReadonlyMap<bigint, Entry>;

/** What the model knows of one hold. */
export interface ModelHold {
  readonly id: string;
  readonly petId: bigint;
  readonly quantity: bigint;
  readonly reference: string | undefined;
  readonly expiresAtMs: number;
  /** Whether it has been committed or released, or neither. */
  readonly state: HoldState;
}

/** Where a model starts: with no idempotency key. */
export interface ModelStart {
  readonly items: readonly InventoryItem[];
  /** The oldest first. */
  readonly holds: readonly Hold[];
  /** How many changes of the history were made before. */
  readonly head: number;
  /** The whole history, from revision 1 on. */
  readonly history: readonly StockChange[];
  /** The ids of all holds that there are in the end, the oldest first. */
  readonly holdIds: readonly string[];
}

/** A hold, as the service shows it. One that is shown as expired is one that was not ended in time. */
export function toModelHold({ holdId, petId, quantity, reference, state, expiresAt }: Hold): ModelHold {
  const expiresAtMs = expiresAt === undefined ? 0 : timestampMs(expiresAt);
  const ending = state === HoldState.EXPIRED ? HoldState.HELD : state;
  return { id: holdId, petId, quantity, reference, expiresAtMs, state: ending };
}

/** The state of the model: stock, holds and how far the history goes. */
export class StockState {
  readonly history: readonly StockChange[];
  readonly holdIds: readonly string[];
  /** How many changes of the history have been made. */
  head: number;
  entries: Entries;
  /** By id, in the order of their creation. */
  readonly holds = new Map<string, ModelHold>();
  /** The holds that were neither committed nor released, by id. */
  readonly open = new Map<string, ModelHold>();
  /** Pet and entity tag, of all tags that were shown. */
  readonly shown = new Set<string>();

  constructor({ items, holds, history, holdIds, head }: ModelStart) {
    this.history = history;
    this.holdIds = holdIds;
    this.head = head;
    this.entries = new Map(items.map(({ petId, quantity, status }) => [petId, { quantity, status, etag: undefined }]));
    for (const hold of holds) {
      this.setHold(toModelHold(hold));
    }
  }

  /** Whether the history goes on with a change of this reference. */
  isNext(reference: string | undefined): boolean {
    const next = this.history[this.head];
    return next !== undefined && next.reference === reference;
  }

  /** How many are held of a pet, at least and at most: a hold may expire while the call is under way. */
  held(petId: bigint, call: Interval): { least: bigint; most: bigint } {
    let [least, most] = [0n, 0n];
    for (const hold of this.open.values()) {
      if (hold.petId === petId) {
        const states = statesDuring(hold, call);
        most += states.includes(HoldState.HELD) ? hold.quantity : 0n;
        least += states.includes(HoldState.EXPIRED) ? 0n : hold.quantity;
      }
    }
    return { least, most };
  }

  /** Puts a hold in the place of the one of its id. Returns what takes it back. */
  setHold(hold: ModelHold): () => void {
    const before = this.holds.get(hold.id);
    this.#put(hold);
    return () => {
      if (before === undefined) {
        this.holds.delete(hold.id);
        this.open.delete(hold.id);
      } else {
        this.#put(before);
      }
    };
  }

  #put(hold: ModelHold): void {
    this.holds.set(hold.id, hold);
    if (hold.state === HoldState.HELD) {
      this.open.set(hold.id, hold);
    } else {
      this.open.delete(hold.id);
    }
  }
}

/**
 * The states that a hold may have while a call is under way. It is over by the server's clock, which is read at some
 * moment of the call.
 */
export function statesDuring({ state, expiresAtMs }: ModelHold, { startMs, endMs }: Interval): readonly HoldState[] {
  if (state !== HoldState.HELD || endMs < expiresAtMs - clockToleranceMs) {
    return [state];
  }
  return startMs > expiresAtMs + clockToleranceMs ? [HoldState.EXPIRED] : [HoldState.HELD, HoldState.EXPIRED];
}
