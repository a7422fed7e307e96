import { afterUnbans, type Ban, day, minute, noUsage, type Usage, type Window } from "./limits.ts";
import type { CountedUsage, KeyUsage } from "./store.ts";

/** One key's usage as one server sees it, to be merged with what others have stored meanwhile. */
export interface UsageChange {
  /** What this server last knew to be stored; `noUsage` where nothing was. */
  readonly base: Usage;
  /** What this server has made of it. */
  readonly usage: Usage;
  /** When this server last decided on the key, in milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/** Merges what a server has counted of a key into what is stored of it, if anything. The later last use stays. */
export function mergeCounted(stored: KeyUsage | undefined, counted: CountedUsage): KeyUsage {
  const { keyId, base, usage, lastUsedAtMs } = counted;
  return {
    keyId,
    usage: mergeUsage(stored?.usage ?? noUsage, { base, usage, atMs: lastUsedAtMs }),
    lastUsedAtMs: Math.max(lastUsedAtMs, stored?.lastUsedAtMs ?? 0),
  };
}

/**
 * Merges a server's change into what is stored by now: a three-way merge, so that no count is lost and none is taken
 * back.
 *
 * - Where nobody else has changed the stored usage, the server's usage replaces it.
 * - The requests that the server has counted since `base` are added to a stored window that is in force at the same
 *   time. The merged window begins when the earlier one was opened. Of windows that do not overlap, the later stays.
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

/**
 * A window that opened after the one in `base` is a new one. A window that opened before it is the same one: `windowAt`
 * has moved it, because the clock was set back.
 */
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

function isSameWindow(one: Window | undefined, other: Window | undefined): boolean {
  return one?.openedAtMs === other?.openedAtMs && one?.count === other?.count;
}

function isSameBan(one: Ban | undefined, other: Ban | undefined): boolean {
  return one?.step === other?.step && one?.endsAtMs === other?.endsAtMs;
}
