import type { HoldState } from "../domain/hold.ts";

/** Which of the holds that are stored in a state: all, or those that are over by now, or the others. */
export type HoldSelection = readonly [stored: HoldState, which: "all" | "over" | "not over"];

/** How the holds in some states are stored: what is stored as held has expired once its time is over. */
export function selectionsOf(states: readonly HoldState[]): HoldSelection[] {
  const [isHeld, isExpired] = [states.includes("held"), states.includes("expired")];
  const stored = [...new Set(states)].filter((state) => state !== "held").map((state): HoldSelection => [state, "all"]);
  if (!isHeld && !isExpired) {
    return stored;
  }
  return [...stored, ["held", isHeld && isExpired ? "all" : isExpired ? "over" : "not over"]];
}
