import { admitted, describeWindow, type RateLimitDecision, refused } from "./rate-limit-decision.ts";
import { countIn, minute, type Window, windowAt } from "./window.ts";

/** How many requests without a valid key one client address may make in a minute. Source: docs/contract.md#addresses */
const anonymousLimit = 300;

/** The decision on a request without a valid key, and the window of its network. */
export type DecisionWithWindow = RateLimitDecision & {
  /** The window after the decision. */
  readonly window: Window;
};

/** Decides on a request without a valid key by what its network has used. It may be refused, but never bans. */
export function decideAnonymous(window: Window | undefined, nowMs: number): DecisionWithWindow {
  const current = windowAt(window, minute.lengthMs, nowMs);
  if (current !== undefined && current.count >= anonymousLimit) {
    return { window: current, ...refused([describe(current, nowMs)]) };
  }
  const next = countIn(current, nowMs);
  return { window: next, ...admitted([describe(next, nowMs)]) };
}

function describe(window: Window, nowMs: number) {
  return describeWindow(minute, window, { limit: anonymousLimit, nowMs });
}
