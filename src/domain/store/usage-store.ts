import type { Usage } from "../usage.ts";

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
