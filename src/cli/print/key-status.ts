import { type Key, quotaOf } from "../../domain/key.ts";
import { describeLimits, type Limits } from "../../domain/limits.ts";
import type { WindowState } from "../../domain/rate-limit-decision.ts";
import type { Store } from "../../domain/store/store.ts";
import type { KeyUsage } from "../../domain/store/usage-store.ts";
import { noUsage } from "../../domain/usage.ts";
import { formatAgo, formatRoughRemaining } from "./time.ts";

/** A key, what it has used of its limits, and the deprecated operations that it calls. */
export interface KeyStatus {
  readonly key: Key;
  readonly limits: Limits;
  /** Milliseconds since the Unix epoch, by the full name of the operation. */
  readonly deprecatedCalls: ReadonlyMap<string, number>;
}

/** The status of a key at `nowMs`. `saved` is its usage in the store. */
export function keyStatus(key: Key, saved: KeyUsage | undefined, nowMs: number): KeyStatus {
  return {
    key,
    limits: describeLimits(saved?.usage ?? noUsage, { quota: quotaOf(key), unbans: key.unbans }, nowMs),
    deprecatedCalls: saved?.deprecatedCalls ?? new Map(),
  };
}

/** Loads the status of a key. */
export async function loadKeyStatus(store: Store, key: Key, nowMs: number): Promise<KeyStatus> {
  return keyStatus(key, await store.getUsage(key.id), nowMs);
}

/** Describes why a key does not work, or how long it will, in a few words. */
export function describeState({ key, limits }: KeyStatus, nowMs: number): string {
  if (key.revokedAtMs !== undefined) {
    return `revoked ${formatAgo(key.revokedAtMs, nowMs)}`;
  }
  if (key.expiresAtMs !== undefined && nowMs >= key.expiresAtMs) {
    return `expired ${formatAgo(key.expiresAtMs, nowMs)}`;
  }
  if (limits.ban !== undefined) {
    return `banned for ${formatRoughRemaining(limits.ban.endsAtMs - nowMs)}`;
  }
  return key.expiresAtMs === undefined ? "live" : `ends in ${formatRoughRemaining(key.expiresAtMs - nowMs)}`;
}

/** A key as `keys list --json` prints it: the fields of docs/contract.md#command-line, and its usage. */
export function keyToJson({ key, limits, deprecatedCalls }: KeyStatus): object {
  return {
    id: key.id,
    name: key.name,
    plan: key.plan,
    scopes: key.scopes,
    createdAt: timeToJson(key.createdAtMs),
    expiresAt: timeToJson(key.expiresAtMs),
    lastUsedAt: timeToJson(key.lastUsedAtMs),
    revokedAt: timeToJson(key.revokedAtMs),
    minute: windowToJson(limits.minute),
    day: windowToJson(limits.day),
    strikes: windowToJson(limits.strikes),
    ban: limits.ban === undefined ? null : { endsAt: timeToJson(limits.ban.endsAtMs), step: limits.ban.step },
    deprecatedCalls: [...deprecatedCalls].map(([operation, lastCalledAtMs]) => ({
      operation,
      lastCalledAt: timeToJson(lastCalledAtMs),
    })),
  };
}

/** A window without requests has no reset time. */
function windowToJson({ limit, remaining, resetAtMs }: WindowState): object {
  return { limit, used: limit - remaining, remaining, resetAt: remaining === limit ? null : timeToJson(resetAtMs) };
}

function timeToJson(timeMs: number | undefined): string | null {
  return timeMs === undefined ? null : new Date(timeMs).toISOString();
}
