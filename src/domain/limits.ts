import type { Key, Plan, Quota } from "./key.ts";

/** The decision on a request, and the usage of its key. */
export type DecisionWithUsage = RateLimitDecision & {
  /** The usage after the decision; the same object when it has not changed. */
  readonly usage: Usage;
};

/** What a decision depends on, besides usage and time. */
interface Allowance {
  readonly quota: Quota;
  /** The key's present `unbans`. */
  readonly unbans: number;
}

/**
 * Decides on one request of a key: admits and charges it, or refuses it. A refusal may ban the key. `nowMs` is in whole
 * milliseconds since the Unix epoch. The clock may go back: see `windowAt` and `banAt`. Source: docs/contract.md#limits
 */
export function decide(usage: Usage, { quota, unbans }: Allowance, nowMs: number): DecisionWithUsage {
  const current = usageAt(usage, unbans, nowMs);
  const ban = banInForce(current, nowMs);
  if (ban !== undefined) {
    return decideBanned(current, ban, quota, nowMs);
  }
  if ((current.minute?.count ?? 0) >= quota.perMinute || (current.day?.count ?? 0) >= quota.perDay) {
    return decideRefused(current, quota, nowMs);
  }
  const next = { ...current, minute: countIn(current.minute, nowMs), day: countIn(current.day, nowMs) };
  return { usage: next, ...admitted(describeWindows(next, quota, nowMs)) };
}

/** The part of a usage that is in force now. */
function usageAt(usage: Usage, unbans: number, nowMs: number): Usage {
  const known = afterUnbans(usage, unbans, nowMs);
  return {
    minute: windowAt(known.minute, minute.lengthMs, nowMs),
    day: windowAt(known.day, day.lengthMs, nowMs),
    refusals: windowAt(known.refusals, minute.lengthMs, nowMs),
    ban: banAt(known.ban, nowMs),
    unbans: known.unbans,
  };
}

function banInForce({ ban }: Usage, nowMs: number): Ban | undefined {
  return ban !== undefined && nowMs < ban.endsAtMs ? ban : undefined;
}

function decideRefused(usage: Usage, quota: Quota, nowMs: number): DecisionWithUsage {
  const refusals = countIn(usage.refusals, nowMs);
  if (refusals.count < refusalsForBan(quota)) {
    return { usage: { ...usage, refusals }, ...refused(describeWindows(usage, quota, nowMs)) };
  }
  const ban = imposeBan(usage.ban, nowMs);
  return decideBanned({ ...usage, refusals: undefined, ban }, ban, quota, nowMs);
}

/** The fewest refusals in a minute that ban a key, however small its quota is. Source: docs/contract.md#bans */
const fewestRefusalsForBan = 20;

/** How many refusals in a minute ban a key. */
export function refusalsForBan({ perMinute }: Quota): number {
  return Math.max(fewestRefusalsForBan, perMinute);
}

function decideBanned(usage: Usage, ban: Ban, quota: Quota, nowMs: number): DecisionWithUsage {
  return { usage, ...banned(describeWindows(usage, quota, nowMs), ban.endsAtMs, nowMs) };
}

function describeWindows(usage: Usage, quota: Quota, nowMs: number): [minute: WindowState, day: WindowState] {
  return [
    describeWindow(minute, usage.minute, { limit: quota.perMinute, nowMs }),
    describeWindow(day, usage.day, { limit: quota.perDay, nowMs }),
  ];
}

/** The state of a key's limits, without a request. */
export interface Limits {
  /** The windows as they are: a ban does not change them. */
  readonly minute: WindowState;
  readonly day: WindowState;
  /** The refusals of the present window. After `remaining` more of them the key is banned. */
  readonly strikes: WindowState;
  /** The ban that is in force. */
  readonly ban: Ban | undefined;
  /** What the headers of an answer say. */
  readonly decision: RateLimitDecision;
}

/** The limits of a key, with its plan. */
export interface KeyLimits extends Limits {
  readonly plan: Plan;
}

/** Describes the limits of a key at `nowMs`, and charges nothing. */
export function describeLimits(usage: Usage, { quota, unbans }: Allowance, nowMs: number): Limits {
  const current = usageAt(usage, unbans, nowMs);
  const windows = describeWindows(current, quota, nowMs);
  const ban = banInForce(current, nowMs);
  return {
    minute: windows[0],
    day: windows[1],
    strikes: describeWindow(minute, current.refusals, { limit: refusalsForBan(quota), nowMs }),
    ban,
    decision: decisionOf(windows, ban, nowMs),
  };
}

/** The decision that a request would get, without a charge. */
function decisionOf(windows: readonly WindowState[], ban: Ban | undefined, nowMs: number): RateLimitDecision {
  if (ban !== undefined) {
    return banned(windows, ban.endsAtMs, nowMs);
  }
  return windows.some(({ remaining }) => remaining === 0) ? refused(windows) : admitted(windows);
}

/** How many requests without a valid key one client address may make in a minute. Source: docs/contract.md#addresses */
export const anonymousLimit = 300;

/** The decision on a request without a valid key, and the window of its network. */
type DecisionWithWindow = RateLimitDecision & {
  /** The window after the decision. */
  readonly window: Window;
};

/** Decides on a request without a valid key, by what its network has used. A refusal never leads to a ban. */
export function decideAnonymous(window: Window | undefined, nowMs: number): DecisionWithWindow {
  const current = windowAt(window, minute.lengthMs, nowMs);
  if (current !== undefined && current.count >= anonymousLimit) {
    return { window: current, ...refused([describeAnonymous(current, nowMs)]) };
  }
  const next = countIn(current, nowMs);
  return { window: next, ...admitted([describeAnonymous(next, nowMs)]) };
}

/** What remains of a network's window, as a decision that charges nothing. */
export function describeAnonymousLimits(window: Window | undefined, nowMs: number): RateLimitDecision {
  return admitted([describeAnonymous(windowAt(window, minute.lengthMs, nowMs), nowMs)]);
}

function describeAnonymous(window: Window | undefined, nowMs: number) {
  return describeWindow(minute, window, { limit: anonymousLimit, nowMs });
}

/** The quota of a key that is in force, and how often the key was unbanned. */
export function allowanceOf(key: Pick<Key, "id" | "plan" | "customQuota" | "unbans">): Allowance {
  return { quota: quotaOf(key), unbans: key.unbans };
}

/** The quotas of the plans that have fixed ones. Source: docs/contract.md#limits */
export const planQuotas = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
} as const satisfies Record<string, Quota>;

/** The quota that is in force: the plan's, or an enterprise key's own. */
export function quotaOf({ id, plan, customQuota }: Pick<Key, "id" | "plan" | "customQuota">): Quota {
  if (plan !== "enterprise") {
    return planQuotas[plan];
  }
  if (customQuota === undefined) {
    throw new Error(`the enterprise key ${id} has no quota`);
  }
  return customQuota;
}

/** What one key has used. An `undefined` window was never opened, or has closed. */
export interface Usage {
  readonly minute: Window | undefined;
  readonly day: Window | undefined;
  /** The refused requests of the last minute, which may lead to a ban. */
  readonly refusals: Window | undefined;
  readonly ban: Ban | undefined;
  /** The key's `unbans` at the last decision. If the key has more by now, this ban and these refusals are void. */
  readonly unbans: number;
}

/** The usage of a key that was never used. */
export const noUsage: Usage = { minute: undefined, day: undefined, refusals: undefined, ban: undefined, unbans: 0 };

/**
 * The usage of a key that has been unbanned `unbans` times. If the usage knows of fewer unbans, its refusals are
 * dropped, and its ban ends now.
 */
export function afterUnbans(usage: Usage, unbans: number, nowMs: number): Usage {
  return unbans > usage.unbans ? { ...usage, refusals: undefined, ban: liftBan(usage.ban, nowMs), unbans } : usage;
}

/** The windows in which requests are counted. Source: docs/contract.md#limits */
export const minute = { name: "minute", lengthMs: 60_000 } as const;
export const day = { name: "day", lengthMs: 86_400_000 } as const;

type WindowKind = typeof minute | typeof day;

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
 * A window that opens in the future means that the clock was set back. The window then begins now, and keeps its count.
 * So a key gets no additional requests, and waits no longer than one window.
 */
function windowAt(window: Window | undefined, lengthMs: number, nowMs: number): Window | undefined {
  if (window === undefined || nowMs >= window.openedAtMs + lengthMs) {
    return undefined;
  }
  return nowMs < window.openedAtMs ? { openedAtMs: nowMs, count: window.count } : window;
}

/** Counts one request in the window in force. Opens a window where none is in force. */
export function countIn(window: Window | undefined, nowMs: number): Window {
  return window === undefined
    ? { openedAtMs: nowMs, count: 1 }
    : { openedAtMs: window.openedAtMs, count: window.count + 1 };
}

/** A ban, which may have ended. */
export interface Ban {
  /** How many bans in a row this is, from 1. The length of the next ban depends on it. */
  readonly step: number;
  /** Milliseconds since the Unix epoch. The key is admitted again from this millisecond on. */
  readonly endsAtMs: number;
}

const hourMs = 60 * minute.lengthMs;
const longestMs = day.lengthMs;

/** How long a ban lasts, by its step. Source: docs/contract.md#bans */
export const banLengthsMs: readonly number[] = [
  2 * minute.lengthMs,
  10 * minute.lengthMs,
  hourMs,
  6 * hourMs,
  longestMs,
];

/** The highest step. Its ban is the longest. */
export const lastBanStep = banLengthsMs.length;

/** Each period of this length without a new ban lowers the step by one. */
export const cleanMs = 24 * hourMs;

/**
 * Bans a key from now on, one step higher than the last ban. Clean periods since then lower the step: see `cleanMs`.
 */
function imposeBan(last: Ban | undefined, nowMs: number): Ban {
  const step = Math.min(stepAt(last, nowMs) + 1, lastBanStep);
  return { step, endsAtMs: nowMs + lengthOf(step) };
}

/**
 * The ban at `nowMs`. Its end changes only if the clock was set back, because a ban never lasts longer than its whole
 * length. A ban that had ended may then be in force again, for as long as the clock was set back.
 */
function banAt(ban: Ban | undefined, nowMs: number): Ban | undefined {
  if (ban === undefined) {
    return undefined;
  }
  const latestMs = nowMs + lengthOf(ban.step);
  return ban.endsAtMs <= latestMs ? ban : { step: ban.step, endsAtMs: latestMs };
}

/** Ends a ban now, if it has not ended. Its step is remembered. */
function liftBan(ban: Ban | undefined, nowMs: number): Ban | undefined {
  return ban === undefined || ban.endsAtMs <= nowMs ? ban : { step: ban.step, endsAtMs: nowMs };
}

function stepAt(last: Ban | undefined, nowMs: number): number {
  if (last === undefined) {
    return 0;
  }
  const stepsBack = Math.max(0, Math.floor((nowMs - last.endsAtMs) / cleanMs));
  return Math.max(0, last.step - stepsBack);
}

function lengthOf(step: number): number {
  return banLengthsMs[step - 1] ?? longestMs;
}

/**
 * Counts requests, and decides whether each one is admitted. A method whose name ends in `Now` returns undefined, and
 * charges nothing, if the counts have to be fetched. The method without `Now` fetches them, and rejects with
 * `UNAVAILABLE` if it gets no answer.
 */
export interface RateLimiter {
  readonly keys: KeyLimiter;
  readonly anonymous: AddressLimiter;
}

/** Counts the requests of each key. */
export interface KeyLimiter {
  /** Decides on a request that is made with a key, and charges it. */
  decideNow(key: Key): RateLimitDecision | undefined;
  decide(key: Key): Promise<RateLimitDecision>;
  /** Describes the limits of a key, and charges nothing. It counts as the key's last use. */
  describeNow(key: Key): KeyLimits | undefined;
  describe(key: Key): Promise<KeyLimits>;
  /** Notes that a key has called a deprecated method, by its full name. The key has been decided on before. */
  noteDeprecatedCall(key: Key, method: string): void;
}

/** Counts requests without a valid key by the client's network. */
export interface AddressLimiter {
  /** Decides on a request from an address, and charges it. */
  decideNow(address: string): RateLimitDecision | undefined;
  decide(address: string): Promise<RateLimitDecision>;
  /** Describes the limits of an address, and charges nothing. */
  describe(address: string): Promise<RateLimitDecision>;
}

/** The decision on a request, as its answer shows it. */
export interface RateLimitDecision {
  readonly outcome: "admitted" | "refused" | "banned";
  /** The window that the `X-RateLimit-…` headers show. A client that is refused and waits for its reset is admitted. */
  readonly shown: WindowState;
  /** The longer one last. */
  readonly windows: readonly WindowState[];
}

/** One window of a caller after the decision: what `RateLimit` and `RateLimit-Policy` show. */
export interface WindowState {
  readonly name: WindowKind["name"];
  readonly lengthSeconds: number;
  readonly limit: number;
  /** Never negative, even where the quota was lowered below what was used. */
  readonly remaining: number;
  /**
   * When the window closes, in milliseconds since the Unix epoch. A window that is not in force counts as opened now.
   */
  readonly resetAtMs: number;
  /** The same, in whole seconds, rounded up. */
  readonly resetAtSeconds: number;
  /** In whole seconds from now, rounded up. */
  readonly resetAfterSeconds: number;
}

/** Describes a window. A window that is not in force has its whole limit left. */
function describeWindow(
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
    resetAtSeconds: secondsUp(resetAtMs),
    resetAfterSeconds: secondsUp(resetAtMs - nowMs),
  };
}

/** An admitted request: described by the window with the fewest requests remaining, the longer one on a tie. */
function admitted(windows: readonly WindowState[]): RateLimitDecision {
  return { outcome: "admitted", shown: scarcest(windows), windows };
}

/** A refused request: described by the window that refuses, the one with the later reset if there are several. */
function refused(windows: readonly WindowState[]): RateLimitDecision {
  return { outcome: "refused", shown: lastToReset(usedUp(windows)), windows };
}

/**
 * A request of a banned key. Every window is shown as used up until the ban ends, or until the last used-up window
 * closes, whichever is later.
 */
function banned(windows: readonly WindowState[], endsAtMs: number, nowMs: number): RateLimitDecision {
  const refusing = usedUp(windows);
  const resetAtMs = Math.max(endsAtMs, ...refusing.map((window) => window.resetAtMs));
  const bannedUntil = {
    remaining: 0,
    resetAtMs,
    resetAtSeconds: secondsUp(resetAtMs),
    resetAfterSeconds: secondsUp(resetAtMs - nowMs),
  };
  return {
    outcome: "banned",
    shown: { ...(refusing.length > 0 ? lastToReset(refusing) : scarcest(windows)), ...bannedUntil },
    windows: windows.map((window) => ({ ...window, ...bannedUntil })),
  };
}

function usedUp(windows: readonly WindowState[]): readonly WindowState[] {
  return windows.filter((window) => window.remaining === 0);
}

function lastToReset(windows: readonly WindowState[]): WindowState {
  return windows.reduce((a, b) => (a.resetAtMs > b.resetAtMs ? a : b));
}

/** The window with the fewest requests remaining; on a tie the longer one. */
function scarcest(windows: readonly WindowState[]): WindowState {
  let least = windows[0] as WindowState;
  for (const window of windows) {
    least = window.remaining <= least.remaining ? window : least;
  }
  return least;
}

/** Whole seconds, rounded up, so that the time shown is never too early. */
function secondsUp(ms: number): number {
  return Math.ceil(ms / 1_000);
}
