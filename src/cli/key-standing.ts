import { type Key, quotaOf } from "../domain/key.ts";
import { describeLimits, type Limits, noUsage } from "../domain/limits.ts";
import type { KeyUsage } from "../domain/store.ts";

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
