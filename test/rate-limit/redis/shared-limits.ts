import { type Key, newKey } from "../../../src/domain/key.ts";
import type { RateLimitDecision } from "../../../src/domain/limits.ts";
import type { UsageStore } from "../../../src/domain/store.ts";
import type { LinkObserver } from "../../../src/rate-limit/redis/link.ts";
import { connectToValkey, createSharedLimits, type SharedLimits } from "../../../src/rate-limit/redis/shared-limits.ts";
import { until } from "../../support/deadline.ts";
import { MemoryUsageStore } from "../../support/memory-usage-store.ts";

/** A server's limits, and what they have told. */
export class TestLimits {
  readonly store: UsageStore;
  readonly told: string[] = [];
  roundTrips = 0;
  #limits: SharedLimits | undefined;

  constructor(store: UsageStore) {
    this.store = store;
  }

  get limits(): SharedLimits {
    if (this.#limits === undefined) {
      throw new Error("the limits are not open");
    }
    return this.#limits;
  }

  static async open(url: string, options: OpenOptions = {}): Promise<TestLimits> {
    const test = new TestLimits(options.store ?? new MemoryUsageStore());
    const observer: LinkObserver = {
      disconnected(reason) {
        options.reasons?.push(reason);
        test.told.push(`disconnected: ${reason instanceof Error ? reason.message : String(reason)}`);
      },
      connected: ({ risks }) => void test.told.push(["connected", ...risks].join("; ")),
      roundTrip: () => {
        test.roundTrips += 1;
      },
    };
    test.#limits = createSharedLimits({
      link: await connectToValkey(url, observer),
      isFallbackLocal: options.fallback !== "refuse",
      store: test.store,
      clock: () => Date.now() + (options.aheadMs ?? 0),
      report: (reason) => void test.told.push(`unsaved: ${String(reason)}`),
    });
    return test;
  }

  /** Decides as the limits interceptor does. */
  async decide(key: Key): Promise<RateLimitDecision> {
    return this.limits.keys.decideNow(key) ?? (await this.limits.keys.decide(key));
  }

  /** How many of so many requests at a time had each outcome. */
  async burst(key: Key, requests: number): Promise<Record<RateLimitDecision["outcome"], number>> {
    const decisions = await Promise.all(Array.from({ length: requests }, () => this.decide(key)));
    const count = (wanted: string) => decisions.filter(({ outcome }) => outcome === wanted).length;
    return { admitted: count("admitted"), refused: count("refused"), banned: count("banned") };
  }

  /** Resolves when Valkey is known to be away. */
  async disconnected(): Promise<void> {
    await until(async () => !this.limits.isConnected, 5_000);
  }

  /** Resolves when Valkey is known to answer. */
  async connected(): Promise<void> {
    await until(async () => this.limits.isConnected, 5_000);
  }

  close(): Promise<void> {
    return this.limits.close();
  }
}

interface OpenOptions {
  readonly fallback?: "local" | "refuse";
  /** How far the server's own clock is ahead, in milliseconds. */
  readonly aheadMs?: number;
  readonly store?: UsageStore;
  /** Gets the reasons why Valkey is away. */
  readonly reasons?: unknown[];
}

let keys = 0;

/** A key that no other test has, with these limits. */
export function freshKey(perMinute: number, perDay = 1_000_000): Key {
  const customQuota = { perMinute, perDay };
  return newKey({ id: `key_${process.pid}_${++keys}`, name: "", plan: "enterprise", customQuota, createdAtMs: 0 });
}
