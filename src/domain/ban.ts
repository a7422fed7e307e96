/** A ban, or the memory of one. */
export interface Ban {
  /** How many bans in a row this is, from 1: it decides how long the next one lasts. */
  readonly step: number;
  /** Milliseconds since the Unix epoch. The key is admitted again from this millisecond on. */
  readonly endsAtMs: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const longestMs = 24 * hourMs;

/** How long a ban lasts, by its step. Source: docs/contract.md#bans */
export const banLengthsMs: readonly number[] = [2 * minuteMs, 10 * minuteMs, hourMs, 6 * hourMs, longestMs];

/** The highest step: bans last no longer than its own. */
export const lastBanStep = banLengthsMs.length;

/** Each such period without a new ban takes one step back. */
export const cleanMs = 24 * hourMs;

/** Bans a key from now on: for longer than the last time, unless it has been clean since. */
export function imposeBan(last: Ban | undefined, nowMs: number): Ban {
  const step = Math.min(stepAt(last, nowMs) + 1, lastBanStep);
  return { step, endsAtMs: nowMs + lengthMs(step) };
}

/**
 * The ban at `nowMs`. It changes only when the clock was put back: a ban never lasts longer than its whole length. (A ban
 * that had ended may be in force again, for as long as the clock was put back.)
 */
export function banAt(ban: Ban | undefined, nowMs: number): Ban | undefined {
  if (ban === undefined) {
    return undefined;
  }
  const latestMs = nowMs + lengthMs(ban.step);
  return ban.endsAtMs <= latestMs ? ban : { step: ban.step, endsAtMs: latestMs };
}

/** Ends a ban now, if it has not ended. Its step is remembered. */
export function liftBan(ban: Ban | undefined, nowMs: number): Ban | undefined {
  return ban === undefined || ban.endsAtMs <= nowMs ? ban : { step: ban.step, endsAtMs: nowMs };
}

function stepAt(last: Ban | undefined, nowMs: number): number {
  if (last === undefined) {
    return 0;
  }
  const stepsBack = Math.max(0, Math.floor((nowMs - last.endsAtMs) / cleanMs));
  return Math.max(0, last.step - stepsBack);
}

function lengthMs(step: number): number {
  return banLengthsMs[step - 1] ?? longestMs;
}
