import type { HoldQuestion } from "../../stored-stock.ts";
import type { OpenHold, StoredStock, WorkingSet } from "./working-set.ts";

/*
 * A hold is over at its expiry, whether it has been noted or not. What was found to be over once is noted, so that
 * it stays over when a clock is set back.
 */

/**
 * Finds what is held of a pet: returns what those holds hold that are not over. Notes the oldest of the others, which
 * the group has read; and all that it has not read only where the answer to the question rests on them.
 */
export function findStillHeld(
  set: WorkingSet,
  { petId, held }: StoredStock,
  { nowMs, heldAtMost }: HoldQuestion,
): bigint {
  const { oldest, rest } = set.overdueOf(petId);
  const over = oldest.filter(({ expiresAtMs }) => expiresAtMs <= nowMs);
  const known = over.reduce((sum, { quantity }) => sum + quantity, 0n);
  const stillHeld = held - known - rest;
  for (const hold of over) {
    noteExpiredHold(set, petId, hold);
  }
  if (rest > 0n && stillHeld <= heldAtMost && held - known > heldAtMost) {
    for (const hold of set.overdueOf(petId).oldest.filter(({ expiresAtMs }) => expiresAtMs <= set.nowMs)) {
      noteExpiredHold(set, petId, hold);
    }
    set.noteRest(petId);
  }
  return stillHeld;
}

/** Notes that one hold is over. */
export function noteExpiredHold(set: WorkingSet, petId: bigint, hold: OpenHold): void {
  set.endHold(petId, hold, { state: "expired", endedAtMs: hold.expiresAtMs });
}
