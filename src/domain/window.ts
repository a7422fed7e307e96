/** The windows in which requests are counted. Source: docs/contract.md#limits */
export const minute = { name: "minute", lengthMs: 60_000 } as const;
export const day = { name: "day", lengthMs: 86_400_000 } as const;

export type WindowKind = typeof minute | typeof day;

/** A fixed window, opened by the first request that it counts. */
export interface Window {
  /** Milliseconds since the Unix epoch. */
  readonly openedAtMs: number;
  readonly count: number;
}

/**
 * The window that is in force at `nowMs`, or undefined when there is none: it was never opened, or it has closed. A
 * window closes at the millisecond that is `lengthMs` after its opening.
 *
 * A window in the future means that the clock was put back. It is moved to begin now, and keeps its count: so no more
 * requests are admitted than without the change, and nobody waits longer than one window.
 */
export function windowAt(window: Window | undefined, lengthMs: number, nowMs: number): Window | undefined {
  if (window === undefined || nowMs >= window.openedAtMs + lengthMs) {
    return undefined;
  }
  return nowMs < window.openedAtMs ? { openedAtMs: nowMs, count: window.count } : window;
}

/** Counts one request in the window in force, or opens one with it. */
export function countIn(window: Window | undefined, nowMs: number): Window {
  return window === undefined
    ? { openedAtMs: nowMs, count: 1 }
    : { openedAtMs: window.openedAtMs, count: window.count + 1 };
}
