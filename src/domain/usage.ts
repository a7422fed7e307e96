import { type Ban, liftBan } from "./ban.ts";

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

/** What one key has used. An `undefined` window was never opened, or has closed. */
export interface Usage {
  readonly minute: Window | undefined;
  readonly day: Window | undefined;
  /** The refused requests of the last minute, which may lead to a ban. */
  readonly refusals: Window | undefined;
  readonly ban: Ban | undefined;
  /** The key's `unbans` when this was last decided on. When the key has more, the ban and the refusals are void. */
  readonly unbans: number;
}

/** The usage of a key that was never used. */
export const noUsage: Usage = { minute: undefined, day: undefined, refusals: undefined, ban: undefined, unbans: 0 };

/** One key's usage as one server sees it, to be merged with what others have stored meanwhile. */
export interface UsageChange {
  /** What this server last knew to be stored; `noUsage` where nothing was. */
  readonly base: Usage;
  /** What this server has made of it. */
  readonly usage: Usage;
  /** When this server last decided on the key, in milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/**
 * Merges a server's change into what is stored by now: a three-way merge, so that no count is lost and none is taken
 * back.
 *
 * - Where nobody else has changed the stored usage, the server's usage replaces it.
 * - The requests that the server has counted since `base` are added to a stored window that is in force at the same
 *   time. The window then begins with the earlier request of the two. Of windows that do not overlap, the later stays.
 * - Of two bans the one that ends later stays.
 * - An unban voids the refusals and bans of the side that has not seen it.
 */
export function mergeUsage(stored: Usage, { base, usage, atMs }: UsageChange): Usage {
  if (isSameUsage(stored, base)) {
    return usage;
  }
  const unbans = Math.max(stored.unbans, usage.unbans);
  const [ours, theirs] = [afterUnbans(usage, unbans, atMs), afterUnbans(stored, unbans, atMs)];
  return {
    minute: mergeWindow(theirs.minute, base.minute, ours.minute, minute.lengthMs),
    day: mergeWindow(theirs.day, base.day, ours.day, day.lengthMs),
    refusals: mergeWindow(theirs.refusals, base.refusals, ours.refusals, minute.lengthMs),
    ban: mergeBan(theirs.ban, base.ban, ours.ban),
    unbans,
  };
}

/** Whether two usages say the same. */
export function isSameUsage(one: Usage, other: Usage): boolean {
  return (
    isSameWindow(one.minute, other.minute) &&
    isSameWindow(one.day, other.day) &&
    isSameWindow(one.refusals, other.refusals) &&
    isSameBan(one.ban, other.ban) &&
    one.unbans === other.unbans
  );
}

/** A usage once the key has been unbanned so many times: an older ban and older refusals are void. */
export function afterUnbans(usage: Usage, unbans: number, nowMs: number): Usage {
  return unbans > usage.unbans ? { ...usage, refusals: undefined, ban: liftBan(usage.ban, nowMs), unbans } : usage;
}

function mergeWindow(
  stored: Window | undefined,
  base: Window | undefined,
  ours: Window | undefined,
  lengthMs: number,
): Window | undefined {
  if (isSameWindow(stored, base)) {
    return ours;
  }
  if (ours === undefined || isSameWindow(ours, base)) {
    return stored;
  }
  const added = { openedAtMs: ours.openedAtMs, count: countedSince(base, ours) };
  if (stored === undefined || stored.openedAtMs + lengthMs <= added.openedAtMs) {
    return added.count === 0 ? undefined : added;
  }
  return added.openedAtMs + lengthMs <= stored.openedAtMs ? stored : join(stored, added);
}

/** A window that opened after the one in `base` is new. One that opened before is the same, moved with the clock. */
function countedSince(base: Window | undefined, ours: Window): number {
  return base === undefined || base.openedAtMs < ours.openedAtMs ? ours.count : Math.max(0, ours.count - base.count);
}

function join(one: Window, other: Window): Window {
  return { openedAtMs: Math.min(one.openedAtMs, other.openedAtMs), count: one.count + other.count };
}

function mergeBan(stored: Ban | undefined, base: Ban | undefined, ours: Ban | undefined): Ban | undefined {
  if (stored === undefined || isSameBan(stored, base)) {
    return ours;
  }
  if (ours === undefined || isSameBan(ours, base)) {
    return stored;
  }
  return ours.endsAtMs > stored.endsAtMs ? ours : stored;
}

function isSameWindow(one: Window | undefined, other: Window | undefined): boolean {
  return one?.openedAtMs === other?.openedAtMs && one?.count === other?.count;
}

function isSameBan(one: Ban | undefined, other: Ban | undefined): boolean {
  return one?.step === other?.step && one?.endsAtMs === other?.endsAtMs;
}
