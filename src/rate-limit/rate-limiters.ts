import type { Key, Plan } from "../domain/key.ts";
import {
  type AddressLimiter,
  allowanceOf,
  decide,
  decideAnonymous,
  describeAnonymousLimits,
  describeLimits,
  type KeyLimiter,
  type KeyLimits,
  type RateLimitDecision,
  type Window,
} from "../domain/limits.ts";
import type { UsageStore } from "../domain/store.ts";
import { clientNetwork } from "../http/client-address.ts";
import { saveRegularly, UsageCache } from "./usage-cache.ts";

/** Counts the requests of each key, here or in Valkey, and saves to the store what it has counted. */
export interface KeyRateLimiter extends KeyLimiter {
  /** Counts no more, and resolves when the store has all counts. */
  close(): Promise<void>;
}

/** What the limiter needs. */
interface KeyRateLimiterOptions {
  readonly store: UsageStore;
  readonly clock: () => number;
  /** Is called with each decision, and with the plan of its key. */
  readonly decided?: (decision: RateLimitDecision, plan: Plan) => void;
  /** Is called with the reason when the store has not taken the counts. They are saved again. */
  readonly report: (reason: unknown) => void;
}

/** Creates a limiter that saves its counts at short intervals. */
export function createKeyRateLimiter({ store, clock, decided, report }: KeyRateLimiterOptions): KeyRateLimiter {
  const cache = new UsageCache(store);
  const saves = saveRegularly(cache, report);

  function decideNow(key: Key): RateLimitDecision | undefined {
    const nowMs = clock();
    const entry = cache.use(key.id, nowMs);
    if (entry === undefined) {
      return undefined;
    }
    const decision = decide(entry.usage, allowanceOf(key), nowMs);
    entry.usage = decision.usage;
    decided?.(decision, key.plan);
    return decision;
  }
  function describeNow(key: Key): KeyLimits | undefined {
    const nowMs = clock();
    const entry = cache.use(key.id, nowMs);
    return entry && { plan: key.plan, ...describeLimits(entry.usage, allowanceOf(key), nowMs) };
  }

  return {
    decideNow,
    async decide(key) {
      await cache.load(key.id);
      return decideNow(key) as RateLimitDecision;
    },
    describeNow,
    async describe(key) {
      await cache.load(key.id);
      return describeNow(key) as KeyLimits;
    },
    noteDeprecatedCall: (key, method) => cache.noteDeprecatedCall(key.id, method, clock()),
    close: () => saves.close(),
  };
}

/**
 * Creates a limiter for requests without a valid key, which counts in memory alone, and always decides at once.
 * `decided` is called with each decision.
 *
 * A request that cannot have a valid key is charged without asking the store: no key, a malformed one, or one that the
 * store has said it does not know (see `KeyCache`). Any other key is looked up first, even when the network has
 * used up its limit: a valid key works from every network. So made-up keys cost one look-up each, and a key that is
 * sent again and again costs one look-up in all.
 */
export function createAnonymousRateLimiter(
  clock: () => number,
  decided?: (decision: RateLimitDecision) => void,
): AddressLimiter {
  const windows = new NetworkWindows();
  function decideNow(address: string): RateLimitDecision {
    const network = clientNetwork(address);
    const decision = decideAnonymous(windows.get(network), clock());
    windows.set(network, decision.window);
    decided?.(decision);
    return decision;
  }
  return {
    decideNow,
    decide: async (address) => decideNow(address),
    describe: async (address) => describeAnonymousLimits(windows.get(clientNetwork(address)), clock()),
  };
}

/**
 * The most networks that are counted at a time, some 20 MB. The network that has been idle for longest is dropped
 * first.
 */
const maxNetworks = 100_000;

/** The windows of networks, by `clientNetwork`. */
export class NetworkWindows {
  readonly #windows = new Map<string, Window>();

  get(network: string): Window | undefined {
    return this.#windows.get(network);
  }

  set(network: string, window: Window): void {
    // Deleted and set, so that the map is in the order of the last requests.
    this.#windows.delete(network);
    this.#windows.set(network, window);
    if (this.#windows.size > maxNetworks) {
      this.#windows.delete(this.#windows.keys().next().value as string);
    }
  }
}

/** This Valkey or Redis can never count limits: it is too old, or refuses the database. Waiting does not help. */
export class UnusableValkeyError extends Error {
  override readonly name = "UnusableValkeyError";
}
