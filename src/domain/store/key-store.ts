import type { FoundKey, Key, KeySettings, Plan } from "../key.ts";
import type { Usage } from "../limits.ts";

/** Keeps the API keys. It knows secrets by their SHA-256 alone. */
export interface KeyStore {
  /** Ignores the key's `lastUsedAtMs`, which comes from `saveUsage`. */
  createKey(key: Key, secretHash: Uint8Array): Promise<KeyCreation>;
  /** Takes the same time for any number of keys. Undefined when no secret has this hash. */
  findKey(secretHash: Uint8Array): Promise<FoundKey | undefined>;
  /** Undefined when no key has this id. */
  getKey(id: string): Promise<Key | undefined>;
  /** All keys, in the order of their creation. */
  listKeys(): Promise<Key[]>;
  /**
   * When the old secrets of a key end that still work at `atMs`, in milliseconds since the Unix epoch, ascending. None
   * outlasts its key: an expiry ends them sooner, and a revoked key has none.
   */
  listOldSecretEnds(id: string, atMs: number): Promise<number[]>;
  /** Counts the keys of each plan that are not revoked, and have not expired at `atMs`. */
  countKeys(atMs: number): Promise<KeyCounts>;
  /**
   * Adds a secret to a key. Its present secrets work on until `oldSecretsExpireAtMs`, or until their own end if that is
   * sooner.
   */
  rotateKey(id: string, secretHash: Uint8Array, oldSecretsExpireAtMs: number): Promise<KeyOutcome>;
  /** Revokes a key for good. */
  revokeKey(id: string, revokedAtMs: number): Promise<KeyOutcome>;
  /** Adds one to the key's `unbans`. */
  unbanKey(id: string): Promise<KeyOutcome>;
  /**
   * Gives a key other settings. `former` is the key as it was read: when its settings have changed since, the outcome
   * is `stale`, so that no change of another process is undone. Usage, bans and secrets stay.
   */
  updateKey(former: Key, settings: KeySettings): Promise<KeyOutcome>;
}

/** Finds keys by the secrets that callers send. */
export interface KeyFinder {
  /** Undefined when no key has this secret. */
  find(secret: string): Promise<FoundKey | undefined>;
}

/**
 * The result of creating a key. `taken`: a key has this id already, or this secret, and nothing has changed. A retry of
 * a creation that failed with `UNAVAILABLE` gets `taken` where the first try took effect.
 */
export type KeyCreation = "created" | "taken";

/**
 * The result of changing a key, and the key as it stands now. Only `done` has changed it: a `revoked` key takes no
 * change, a `stale` one has other settings than the caller has read, a new secret may be `taken`, and no key has an
 * `unknown` id.
 */
export type KeyOutcome =
  | { readonly outcome: "done" | "revoked" | "stale" | "taken"; readonly key: Key }
  | { readonly outcome: "unknown" };

/** A number of keys for each plan. */
export type KeyCounts = Readonly<Record<Plan, number>>;

/** The stored usage of one key. */
export interface KeyUsage {
  readonly keyId: string;
  readonly usage: Usage;
  /** Milliseconds since the Unix epoch. */
  readonly lastUsedAtMs: number;
  /**
   * When the key last called each deprecated method, in milliseconds since the Unix epoch, by the method's full name.
   */
  readonly deprecatedCalls?: ReadonlyMap<string, number> | undefined;
}

/** The usage of one key as a server has counted it. */
export interface CountedUsage extends KeyUsage {
  /** What the server last knew to be stored; `noUsage` where nothing was. */
  readonly base: Usage;
}

/**
 * What a server has counted since its last save. A save takes effect once: a server that does not know what has become
 * of a save repeats the very same one.
 */
export interface UsageSave {
  /** Differs for each run of a server. */
  readonly server: string;
  /** Counts the server's saves, from 1. The next save has the next number. */
  readonly number: number;
  readonly usages: readonly CountedUsage[];
}

/** Keeps the counters and bans of the keys. */
export interface UsageStore {
  /** Undefined when nothing was saved for this key. */
  loadUsage(keyId: string): Promise<Usage | undefined>;
  /** Undefined when nothing was saved for this key. */
  getUsage(keyId: string): Promise<KeyUsage | undefined>;
  /** The usage of all keys that have any, in no order. */
  listUsage(): Promise<KeyUsage[]>;
  /**
   * Merges a server's counts into the stored ones as `mergeUsage` does, all of them or none. The later `lastUsedAtMs`
   * stays, and the later call of each deprecated method. Unknown key ids are ignored.
   *
   * Resolves to the stored usage of those keys whose usage is not the server's own, because others count them, too.
   */
  saveUsage(save: UsageSave): Promise<ReadonlyMap<string, Usage>>;
}
