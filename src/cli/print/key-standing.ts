import { type Key, quotaOf } from "../../domain/key.ts";
import { describeLimits, type Limits, noUsage } from "../../domain/limits.ts";
import type { KeyUsage, Store } from "../../domain/store.ts";
import { formatAgo, formatRoughly } from "./time-text.ts";

/** A key, how it stands with its limits, and which deprecated operations it calls. */
export interface KeyStanding {
  readonly key: Key;
  readonly limits: Limits;
  /** Milliseconds since the Unix epoch, by the operation's full name. */
  readonly deprecatedCalls: ReadonlyMap<string, number>;
}

/** Tells how a key stands at `nowMs`; `saved` is what the store knows of its use. */
export function describeKey(key: Key, saved: KeyUsage | undefined, nowMs: number): KeyStanding {
  return {
    key,
    limits: describeLimits(saved?.usage ?? noUsage, { quota: quotaOf(key), unbans: key.unbans }, nowMs),
    deprecatedCalls: saved?.deprecatedCalls ?? new Map(),
  };
}

/** Tells how a key of a store stands. */
export async function loadKey(store: Store, key: Key, nowMs: number): Promise<KeyStanding> {
  return describeKey(key, await store.getUsage(key.id), nowMs);
}

/** What stands in a key's way, or how long it goes on, in a few words; the first that holds. */
export function describeState({ key, limits }: KeyStanding, nowMs: number): string {
  if (key.revokedAtMs !== undefined) {
    return `revoked ${formatAgo(key.revokedAtMs, nowMs)}`;
  }
  if (key.expiresAtMs !== undefined && nowMs >= key.expiresAtMs) {
    return `expired ${formatAgo(key.expiresAtMs, nowMs)}`;
  }
  if (limits.ban !== undefined) {
    return `banned for ${formatRoughly(limits.ban.endsAtMs - nowMs)}`;
  }
  return key.expiresAtMs === undefined ? "live" : `ends in ${formatRoughly(key.expiresAtMs - nowMs)}`;
}
