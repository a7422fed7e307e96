import { type Ban, banAt, imposeBan } from "./ban.ts";
import type { Plan, Quota } from "./key.ts";
import {
  admitted,
  banned,
  describeWindow,
  type RateLimitDecision,
  refused,
  type WindowState,
} from "./rate-limit-decision.ts";
import { afterUnbans, countIn, day, minute, type Usage, type Window, windowAt } from "./usage.ts";

/** The decision on a request, and the usage of its key. */
export type DecisionWithUsage = RateLimitDecision & {
  /** The usage after the decision; the same object when it has not changed. */
  readonly usage: Usage;
};

/** What a decision depends on, besides usage and time. */
export interface Allowance {
  readonly quota: Quota;
  /** The key's present `unbans`. */
  readonly unbans: number;
}

/** Fewer refusals in a minute than this ban no key, however small its quota. Source: docs/contract.md#bans */
const fewestRefusalsForBan = 20;

/**
 * Decides one request of a key: admits and charges it, or refuses it, which may ban the key. `nowMs` is in whole
 * milliseconds since the Unix epoch; it may go back, see `windowAt` and `banAt`. Source: docs/contract.md#limits
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

/** The state of a key's limits, without a request. */
export interface Limits {
  /** The windows as they are: a ban does not change them. */
  readonly minute: WindowState;
  readonly day: WindowState;
  /** The recent refusals: `remaining` more lead to a ban. */
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
  const [minuteState, dayState] = describeWindows(current, quota, nowMs);
  return {
    minute: minuteState,
    day: dayState,
    strikes: describeWindow(minute, current.refusals, { limit: refusalsForBan(quota), nowMs }),
    ban: banInForce(current, nowMs),
    decision: decisionOf(current, quota, nowMs),
  };
}

/** The decision that a request would get, without a charge. */
function decisionOf(usage: Usage, quota: Quota, nowMs: number): RateLimitDecision {
  const windows = describeWindows(usage, quota, nowMs);
  const ban = banInForce(usage, nowMs);
  if (ban !== undefined) {
    return banned(windows, ban.endsAtMs, nowMs);
  }
  return windows.some(({ remaining }) => remaining === 0) ? refused(windows) : admitted(windows);
}

/** The part of a usage that is in force now; the same object when all of it is. */
function usageAt(usage: Usage, unbans: number, nowMs: number): Usage {
  const known = afterUnbans(usage, unbans, nowMs);
  const current = {
    minute: windowAt(known.minute, minute.lengthMs, nowMs),
    day: windowAt(known.day, day.lengthMs, nowMs),
    refusals: windowAt(known.refusals, minute.lengthMs, nowMs),
    ban: banAt(known.ban, nowMs),
    unbans: known.unbans,
  };
  return isSame(usage, current) ? usage : current;
}

function banInForce({ ban }: Usage, nowMs: number): Ban | undefined {
  return ban !== undefined && nowMs < ban.endsAtMs ? ban : undefined;
}

function isSame(a: Usage, b: Usage): boolean {
  return (
    a.minute === b.minute && a.day === b.day && a.refusals === b.refusals && a.ban === b.ban && a.unbans === b.unbans
  );
}

function decideRefused(usage: Usage, quota: Quota, nowMs: number): DecisionWithUsage {
  const refusals = countIn(usage.refusals, nowMs);
  if (refusals.count < refusalsForBan(quota)) {
    return { usage: { ...usage, refusals }, ...refused(describeWindows(usage, quota, nowMs)) };
  }
  const ban = imposeBan(usage.ban, nowMs);
  return decideBanned({ ...usage, refusals: undefined, ban }, ban, quota, nowMs);
}

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

/** How many requests without a valid key one client address may make in a minute. Source: docs/contract.md#addresses */
export const anonymousLimit = 300;

/** The decision on a request without a valid key, and the window of its network. */
export type DecisionWithWindow = RateLimitDecision & {
  /** The window after the decision. */
  readonly window: Window;
};

/** Decides on a request without a valid key by what its network has used. It may be refused, but never bans. */
export function decideAnonymous(window: Window | undefined, nowMs: number): DecisionWithWindow {
  const current = windowAt(window, minute.lengthMs, nowMs);
  if (current !== undefined && current.count >= anonymousLimit) {
    return { window: current, ...refused([describeAnonymous(current, nowMs)]) };
  }
  const next = countIn(current, nowMs);
  return { window: next, ...admitted([describeAnonymous(next, nowMs)]) };
}

function describeAnonymous(window: Window, nowMs: number) {
  return describeWindow(minute, window, { limit: anonymousLimit, nowMs });
}
