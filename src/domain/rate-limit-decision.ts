import type { Window, WindowKind } from "./usage.ts";

/** One window of a caller after the decision: what `RateLimit` and `RateLimit-Policy` show. */
export interface WindowState {
  readonly name: WindowKind["name"];
  readonly lengthSeconds: number;
  readonly limit: number;
  /** Never negative, even when the quota has become smaller than what was used. */
  readonly remaining: number;
  /** Milliseconds since the Unix epoch: when the window closes, or would if this request had opened it. */
  readonly resetAtMs: number;
  /** The same, in whole seconds from now, rounded up. */
  readonly resetAfterSeconds: number;
}

/** The values of the `X-RateLimit-…` headers. */
export interface LimitHeaderValues {
  readonly limit: number;
  readonly remaining: number;
  /** Unix time in whole seconds, rounded up. */
  readonly resetSeconds: number;
}

/** The decision on a request, as its answer shows it: admitted, or refused, and how long to wait. */
export type RateLimitDecision = Admission | RateLimitRefusal;

interface Admission extends Described {
  readonly outcome: "admitted";
  readonly retryAfterSeconds: undefined;
}

interface RateLimitRefusal extends Described {
  readonly outcome: "refused" | "banned";
  /** Whole seconds, rounded up. A client that waits for this long is admitted. */
  readonly retryAfterSeconds: number;
}

interface Described {
  readonly headerValues: LimitHeaderValues;
  readonly windows: readonly WindowState[];
}

/** Describes a window. A window that is not in force has its whole limit left. */
export function describeWindow(
  kind: WindowKind,
  window: Window | undefined,
  { limit, nowMs }: { readonly limit: number; readonly nowMs: number },
): WindowState {
  const resetAtMs = (window?.openedAtMs ?? nowMs) + kind.lengthMs;
  return {
    name: kind.name,
    lengthSeconds: kind.lengthMs / 1_000,
    limit,
    remaining: Math.max(0, limit - (window?.count ?? 0)),
    resetAtMs,
    resetAfterSeconds: secondsUp(resetAtMs - nowMs),
  };
}

/** An admitted request: described by the window with the fewest requests remaining, the longer one on a tie. */
export function admitted(windows: readonly WindowState[]): RateLimitDecision {
  return {
    outcome: "admitted",
    headerValues: headerValuesOf(scarcest(windows)),
    windows,
    retryAfterSeconds: undefined,
  };
}

/** A refused request: described by the window that refuses, the one with the later reset if there are several. */
export function refused(windows: readonly WindowState[]): RateLimitDecision {
  const shown = lastToReset(usedUp(windows));
  return {
    outcome: "refused",
    headerValues: headerValuesOf(shown),
    windows,
    retryAfterSeconds: shown.resetAfterSeconds,
  };
}

/**
 * A request of a banned key. Nothing remains in any window until the ban ends, or until a used-up window closes, if that
 * is later.
 */
export function banned(windows: readonly WindowState[], endsAtMs: number, nowMs: number): RateLimitDecision {
  const refusing = usedUp(windows);
  const shown = refusing.length > 0 ? lastToReset(refusing) : scarcest(windows);
  const resetAtMs = Math.max(endsAtMs, ...refusing.map((window) => window.resetAtMs));
  const resetAfterSeconds = secondsUp(resetAtMs - nowMs);
  return {
    outcome: "banned",
    headerValues: { limit: shown.limit, remaining: 0, resetSeconds: secondsUp(resetAtMs) },
    windows: windows.map((window) => ({ ...window, remaining: 0, resetAtMs, resetAfterSeconds })),
    retryAfterSeconds: resetAfterSeconds,
  };
}

function usedUp(windows: readonly WindowState[]): readonly WindowState[] {
  return windows.filter((window) => window.remaining === 0);
}

function lastToReset(windows: readonly WindowState[]): WindowState {
  return windows.reduce((a, b) => (a.resetAtMs > b.resetAtMs ? a : b));
}

/** On a tie the longer window. */
function scarcest(windows: readonly WindowState[]): WindowState {
  return windows.reduce((a, b) =>
    a.remaining < b.remaining || (a.remaining === b.remaining && a.lengthSeconds > b.lengthSeconds) ? a : b,
  );
}

function headerValuesOf({ limit, remaining, resetAtMs }: WindowState): LimitHeaderValues {
  return { limit, remaining, resetSeconds: secondsUp(resetAtMs) };
}

/** Rounded up, so that the time shown is never too early. */
function secondsUp(ms: number): number {
  return Math.ceil(ms / 1_000);
}
