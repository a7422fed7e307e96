import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Key, newKey } from "../../src/domain/key.ts";
import type { RateLimitDecision, Usage } from "../../src/domain/limits.ts";
import {
  createAnonymousRateLimiter,
  createKeyRateLimiter,
  type KeyRateLimiter,
  NetworkWindows,
} from "../../src/rate-limit/rate-limiters.ts";
import { MemoryUsageStore } from "../support/memory-usage-store.ts";

function key(perMinute: number): Key {
  const customQuota = { perMinute, perDay: 1_000 };
  return newKey({ id: "key_1", name: "", plan: "enterprise", customQuota, createdAtMs: 0 });
}

/** Decides on a request as the limits interceptor does: at once, where the key's counts are in memory. */
async function decide(limiter: KeyRateLimiter, of: Key): Promise<RateLimitDecision> {
  return limiter.decideNow(of) ?? (await limiter.decide(of));
}

describe("the limiter of keys", () => {
  let store: MemoryUsageStore;
  let reported: unknown[];

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
    store = new MemoryUsageStore();
    reported = [];
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  function createLimiter() {
    return createKeyRateLimiter({ store, clock: Date.now, report: (reason) => reported.push(reason) });
  }

  it("counts requests that arrive before the first count is loaded", async () => {
    const limiter = createLimiter();
    const outcomes = await Promise.all(Array.from({ length: 5 }, async () => decide(limiter, key(3))));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["admitted", "admitted", "admitted", "refused", "refused"]);
    await limiter.close();
  });

  it("goes on from where the limiter before it was closed", async () => {
    const first = createLimiter();
    await decide(first, key(3));
    await first.close();
    const second = createLimiter();
    expect((await decide(second, key(3))).shown.remaining).toBe(1);
    await second.close();
  });

  it("has its counts saved within a second", async () => {
    const limiter = createLimiter();
    await decide(limiter, key(3));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(store.saved.get("key_1")?.minute?.count).toBe(1);
    await limiter.close();
  });

  it("has it saved when a key last called a deprecated method", async () => {
    const limiter = createLimiter();
    await decide(limiter, key(3));
    limiter.noteDeprecatedCall(key(3), "a.B/C");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(store.deprecatedCalls.get("key_1")).toEqual(new Map([["a.B/C", 1_000_000]]));
    limiter.noteDeprecatedCall(key(3), "a.B/C");
    await limiter.close();
    expect(store.deprecatedCalls.get("key_1")).toEqual(new Map([["a.B/C", 1_001_000]]));
  });

  it.each(["before", "after"] as const)(
    "counts once what a save has counted that failed %s it took effect",
    async (when) => {
      const limiter = createLimiter();
      store.failing = when;
      await decide(limiter, key(9));
      await vi.advanceTimersByTimeAsync(500);
      await decide(limiter, key(9));
      await vi.advanceTimersByTimeAsync(500);
      expect(reported.length).toBeGreaterThan(0);
      store.failing = undefined;
      await vi.advanceTimersByTimeAsync(1_000);
      expect(store.saved.get("key_1")?.minute?.count).toBe(2);
      await limiter.close();
    },
  );

  it("saves four times a second, though a key is used during each save", async () => {
    const limiter = createLimiter();
    const saveUsage = store.saveUsage.bind(store);
    const saves = vi.spyOn(store, "saveUsage").mockImplementation(async (save) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return await saveUsage(save);
    });
    const use = setInterval(() => void decide(limiter, key(999)), 5);
    await vi.advanceTimersByTimeAsync(2_000);
    clearInterval(use);
    expect(saves.mock.calls.length).toBeLessThanOrEqual(8);
    const closed = limiter.close();
    await vi.advanceTimersByTimeAsync(100);
    await closed;
    expect(store.saved.get("key_1")?.minute?.count).toBe(400);
  });

  it("saves everything when it is closed after a save that failed", async () => {
    const limiter = createLimiter();
    store.failing = "after";
    await decide(limiter, key(9));
    await vi.advanceTimersByTimeAsync(500);
    await decide(limiter, key(9));
    store.failing = undefined;
    await limiter.close();
    expect(store.saved.get("key_1")?.minute?.count).toBe(2);
  });

  it("adds its counts to those of another server, and goes on from the sum", async () => {
    const [one, other] = [createLimiter(), createLimiter()];
    for (let made = 0; made < 5; made += 1) {
      await decide(one, key(100));
      await decide(other, key(100));
    }
    await vi.advanceTimersByTimeAsync(1_000);
    expect(store.saved.get("key_1")?.minute?.count).toBe(10);
    await decide(one, key(100));
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await decide(one, key(100))).shown.remaining).toBe(88);
    await Promise.all([one.close(), other.close()]);
    expect(store.saved.get("key_1")?.minute?.count).toBe(12);
  });

  it("remembers a key that has been idle for long, by the store", async () => {
    const limiter = createLimiter();
    await decide(limiter, key(3));
    await vi.advanceTimersByTimeAsync(15 * 60_000);
    store.saved.set("key_1", { ...(store.saved.get("key_1") as Usage), day: { openedAtMs: 1_000_000, count: 7 } });
    await decide(limiter, key(3));
    await limiter.close();
    expect(store.saved.get("key_1")?.day?.count).toBe(8);
  });
});

it("counts strangers by their network, 300 a minute", () => {
  let nowMs = 1_000_000;
  const limiter = createAnonymousRateLimiter(() => nowMs);
  const outcomes = Array.from({ length: 301 }, (_, i) => limiter.decideNow(`2001:db8::${i}`)?.outcome);
  expect(outcomes.filter((outcome) => outcome === "admitted").length).toBe(300);
  expect(outcomes.at(-1)).toBe("refused");
  expect(limiter.decideNow("192.0.2.1")?.outcome).toBe("admitted");
  nowMs += 60_000;
  expect(limiter.decideNow("2001:db8::1")?.outcome).toBe("admitted");
});

it("describes the limit of strangers, and charges nothing", async () => {
  const limiter = createAnonymousRateLimiter(() => 1_000_000);
  const remaining = async () => (await limiter.describe("192.0.2.1")).shown.remaining;
  expect([await remaining(), await remaining()]).toEqual([300, 300]);
  limiter.decideNow("192.0.2.1");
  expect([await remaining(), await remaining()]).toEqual([299, 299]);
});

it("forgets the network that has been idle for longest, of more than 100,000", () => {
  const windows = new NetworkWindows();
  const window = { openedAtMs: 1_000_000, count: 1 };
  for (let network = 0; network < 100_000; network += 1) {
    windows.set(`${network}`, window);
  }
  windows.set("0", { ...window, count: 2 });
  windows.set("another", window);
  expect([windows.get("0")?.count, windows.get("1"), windows.get("2")?.count]).toEqual([2, undefined, 1]);
});
