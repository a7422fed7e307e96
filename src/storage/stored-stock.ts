import type { ChangeKind } from "../domain/history.ts";
import type { HoldState } from "../domain/hold.ts";
import type { ChangeNote, StockEntry } from "../domain/stock.ts";

/** A new stock count, and what the history tells of it. */
export interface StockWrite extends ChangeNote {
  readonly kind: ChangeKind;
  readonly quantity: bigint;
}

/** What a write that depends on a pet's holds asks of them. */
export interface HoldQuestion {
  /** Holds that expire by then hold nothing any more. */
  readonly nowMs: number;
  /** The write is granted where no more than this is held. */
  readonly heldAtMost: bigint;
}

/** What callers see of an entry that is stored with more. */
export function entryOf({ petId, quantity, status, version }: StockEntry): StockEntry {
  return { petId, quantity, status, version };
}

/** The version of an entry whose last change has this revision. */
export function versionOf(lineage: string, revision: bigint | number): string {
  return `${lineage}-${revision}`;
}

/** The revision in a version. */
export function revisionOf(version: string): bigint {
  return BigInt(version.slice(version.indexOf("-") + 1));
}

/** Selects the holds that are stored in a state: all, or those that are over by now, or the others. */
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
