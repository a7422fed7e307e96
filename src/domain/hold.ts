import { holdEnded, insufficientStock, petNotFound, quantityOutOfRange } from "./errors.ts";
import { isInt64 } from "./ranges.ts";
import { availableOf, type ChangeNote, type StockEntry } from "./stock.ts";

/** The states of a hold. Source: docs/contract.md#holds */
export const holdStates = ["held", "committed", "released", "expired"] as const;

export type HoldState = (typeof holdStates)[number];

/** Some of a pet's stock that is kept for a while. */
export interface Hold {
  readonly id: string;
  readonly petId: bigint;
  /** At least 1. */
  readonly quantity: bigint;
  readonly reference: string | undefined;
  readonly state: HoldState;
  /** Milliseconds since the Unix epoch, as is `expiresAtMs`. */
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** The API key that has created the hold. */
  readonly keyId: string;
}

/** How long a hold lasts by default, in milliseconds. Source: docs/contract.md#holds */
export const defaultHoldMs = 15 * 60_000;

/** A caller's request to create a hold. */
export interface HoldRequest {
  /** Random, and used once. */
  readonly holdId: string;
  readonly petId: bigint;
  readonly quantity: bigint;
  readonly ttlMs: number;
  readonly reference: string | undefined;
}

/** A caller's request to end a hold. */
export interface HoldEnding extends ChangeNote {
  readonly holdId: string;
}

/** The state of a hold at a moment. A hold that is stored as held has expired once its time is over. */
export function holdStateAt({ state, expiresAtMs }: Pick<Hold, "state" | "expiresAtMs">, nowMs: number): HoldState {
  return state === "held" && expiresAtMs <= nowMs ? "expired" : state;
}

/** A hold as it stands at a moment. */
export function holdAt(hold: Hold, nowMs: number): Hold {
  return { ...hold, state: holdStateAt(hold, nowMs) };
}

/** Selects holds by their stored state: all of them, or those that are over by now, or those that are not. */
export type HoldSelection = readonly [stored: HoldState, which: "all" | "over" | "not over"];

/** Selects the holds in some states as they are stored. A hold that is stored as held has expired once its time is over. */
export function selectionsOf(states: readonly HoldState[]): HoldSelection[] {
  const [isHeld, isExpired] = [states.includes("held"), states.includes("expired")];
  const stored = [...new Set(states)].filter((state) => state !== "held").map((state): HoldSelection => [state, "all"]);
  if (!isHeld && !isExpired) {
    return stored;
  }
  return [...stored, ["held", isHeld && isExpired ? "all" : isExpired ? "over" : "not over"]];
}

/** What a write needs to know of a pet's holds. */
export interface HoldRequirement {
  /** Holds that expire by then hold nothing any more. */
  readonly nowMs: number;
  /** The write is granted where no more than this is held. */
  readonly heldAtMost: bigint;
}

/**
 * Throws `PET_NOT_FOUND` and `INSUFFICIENT_STOCK` where a hold may not be created. `entry` is undefined where there is
 * no such pet. `held` is how many of the pet are held now.
 */
export function assertHoldable({ petId, quantity }: HoldRequest, entry: StockEntry | undefined, held: bigint): void {
  if (entry === undefined) {
    throw petNotFound(petId);
  }
  const available = availableOf(entry.quantity, held);
  if (quantity > available) {
    throw insufficientStock(petId, available);
  }
}

/**
 * Decides on the commit of a hold, which takes its quantity off the pet's stock. Returns the new stock count; undefined
 * if the hold was committed before. Throws `HOLD_ENDED` and `QUANTITY_OUT_OF_RANGE`.
 */
export function decideCommit(hold: Hold, entry: StockEntry, nowMs: number): bigint | undefined {
  const state = holdStateAt(hold, nowMs);
  if (state === "committed") {
    return undefined;
  }
  if (state !== "held") {
    throw holdEnded(state);
  }
  const quantity = entry.quantity - hold.quantity;
  if (!isInt64(quantity)) {
    throw quantityOutOfRange(hold.petId);
  }
  return quantity;
}

/**
 * Decides on the release of a hold. Returns whether the hold ends now: false if it was released before, or has expired.
 * Throws `HOLD_ENDED`.
 */
export function decideRelease(hold: Hold, nowMs: number): boolean {
  const state = holdStateAt(hold, nowMs);
  if (state === "committed") {
    throw holdEnded(state);
  }
  return state === "held";
}
