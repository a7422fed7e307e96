import type { Plan } from "../../domain/key.ts";
import type { RateLimitDecision } from "../../domain/limits.ts";
import type { UsageStore } from "../../domain/store/key-store.ts";
import type { KeyRateLimiter } from "../key-rate-limiter.ts";
import { UsageCache } from "../usage-cache.ts";
import { saveRegularly } from "../usage-saves.ts";
import { openConnection, parseTarget } from "./connection.ts";
import { Counting, SharedClock } from "./counting.ts";
import { type LinkObserver, ValkeyLink } from "./link.ts";
import {
  createSharedAnonymousRateLimiter,
  createSharedKeyRateLimiter,
  type SharedAnonymousRateLimiter,
} from "./rate-limiters.ts";
import { createScripts } from "./scripts.ts";
import { SharedStreamPlaces } from "./stream-places.ts";

/** What the limits need. */
export interface SharedLimitsOptions {
  /** The URL of Valkey or Redis. */
  readonly url: string;
  /** Whether this server counts by itself while Valkey is away; else it refuses. */
  readonly isFallbackLocal: boolean;
  readonly store: UsageStore;
  readonly clock: () => number;
  /** Hears each decision, with the plan of its key, if it has one. */
  readonly decided?: ((decision: RateLimitDecision, plan?: Plan) => void) | undefined;
  /** Hears why the store has not taken the counts. They are saved again. */
  readonly report: (reason: unknown) => void;
  readonly observer: LinkObserver;
  /** Only tests give others than `createScripts()`. */
  readonly scripts?: ReturnType<typeof createScripts>;
}

/** Limits that Valkey counts for all servers together. */
export interface SharedLimits {
  readonly keys: KeyRateLimiter;
  readonly anonymous: SharedAnonymousRateLimiter;
  readonly places: SharedStreamPlaces;
  /** Whether Valkey answers, as far as is known. */
  readonly isHere: boolean;
  /** How many decisions this server has made by itself. */
  readonly localDecisions: number;
  /** Counts no more, and resolves when the store has all counts. */
  close(): Promise<void>;
}

/** Connects to Valkey, or goes on trying. Rejects with `UnusableValkeyError` for a server that cannot be used. */
export async function openSharedLimits(options: SharedLimitsOptions): Promise<SharedLimits> {
  const { url, isFallbackLocal, store, decided, report, observer, scripts = createScripts() } = options;
  const target = parseTarget(url);
  const link = new ValkeyLink({ open: (signal) => openConnection(target, signal), observer });
  const counting = new Counting({ link, clock: new SharedClock(options.clock), scripts, isFallbackLocal });
  const places = new SharedStreamPlaces(counting);
  await link.start();
  const cache = new UsageCache(store);
  const saves = saveRegularly(cache, report);
  const keys = createSharedKeyRateLimiter({ counting, cache, saves, decided });
  return {
    keys,
    anonymous: createSharedAnonymousRateLimiter(counting, decided),
    places,
    get isHere() {
      return link.isHere;
    },
    get localDecisions() {
      return counting.localDecisions;
    },
    async close() {
      places.close();
      await link.close();
      await keys.close();
    },
  };
}
