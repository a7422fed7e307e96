import { expect, it } from "vitest";
import type { Quota } from "../../src/domain/key.ts";
import { type Key, newKey } from "../../src/domain/key.ts";
import type { RateLimitDecision } from "../../src/domain/limits.ts";
import { createKeyRateLimiter, type KeyRateLimiter } from "../../src/rate-limit/rate-limiters.ts";
import { amount } from "../support/long.ts";
import { MemoryUsageStore } from "../support/memory-usage-store.ts";
import { Random } from "../support/random.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const yearMs = 365 * dayMs;

const quotas: readonly Quota[] = [
  { perMinute: 60, perDay: 1_000 },
  { perMinute: 7, perDay: 5_000 },
  { perMinute: 100, perDay: 150 },
];

/** The service's count of a key's requests, under a clock that the test sets, over restarts. */
class Service {
  readonly #store = new MemoryUsageStore();
  readonly #key: Key;
  #limiter = this.#open();
  /** What the system's clock shows. */
  clockMs: number;

  constructor(customQuota: Quota, startMs: number) {
    this.#key = newKey({ id: "key_1", name: "", plan: "enterprise", customQuota, createdAtMs: 0 });
    this.clockMs = startMs;
  }

  #open(): KeyRateLimiter {
    const report = (reason: unknown) => expect.unreachable(String(reason));
    return createKeyRateLimiter({ store: this.#store, clock: () => this.clockMs, report });
  }

  /** Only the first request after a restart waits for the key's counts. */
  async request(): Promise<RateLimitDecision> {
    return await this.#limiter.decide(this.#key);
  }

  async restart(): Promise<void> {
    await this.close();
    this.#limiter = this.#open();
  }

  close(): Promise<void> {
    return this.#limiter.close();
  }
}

/** A fixed window, which the first request that it counts opens. */
class Counted {
  readonly #lengthMs: number;
  #openedAtMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  countAt(nowMs: number): number {
    return nowMs < this.#openedAtMs + this.#lengthMs ? this.#count : 0;
  }

  add(nowMs: number): void {
    this.#count = this.countAt(nowMs) + 1;
    this.#openedAtMs = this.#count === 1 ? nowMs : this.#openedAtMs;
  }
}

const banLengthsMs = [2 * minuteMs, 10 * minuteMs, hourMs, 6 * hourMs, 24 * hourMs];

/** The rules of docs/contract.md#limits, written a second time. */
class Ledger {
  readonly #quota: Quota;
  readonly #minute = new Counted(minuteMs);
  readonly #day = new Counted(dayMs);
  #refusals = new Counted(minuteMs);
  #banEndsAtMs = Number.NEGATIVE_INFINITY;
  #step = 0;

  constructor(quota: Quota) {
    this.#quota = quota;
  }

  decide(nowMs: number): RateLimitDecision["outcome"] {
    const { perMinute, perDay } = this.#quota;
    if (nowMs < this.#banEndsAtMs) {
      return "banned";
    }
    if (this.#minute.countAt(nowMs) < perMinute && this.#day.countAt(nowMs) < perDay) {
      this.#minute.add(nowMs);
      this.#day.add(nowMs);
      return "admitted";
    }
    this.#refusals.add(nowMs);
    return this.#refusals.countAt(nowMs) < Math.max(20, perMinute) ? "refused" : this.#ban(nowMs);
  }

  #ban(nowMs: number): "banned" {
    const cleanDays = this.#step === 0 ? 0 : Math.floor((nowMs - this.#banEndsAtMs) / dayMs);
    this.#step = Math.min(Math.max(0, this.#step - cleanDays) + 1, banLengthsMs.length);
    this.#banEndsAtMs = nowMs + (banLengthsMs[this.#step - 1] ?? 0);
    this.#refusals = new Counted(minuteMs);
    return "banned";
  }
}

/** What a client does until it does something else. Each is so many requests, and the pause after each of them. */
function drawHabit(random: Random): { readonly requests: number; readonly pauseMs: () => number } {
  return random.pick([
    { requests: 150, pauseMs: () => 0 },
    { requests: 200, pauseMs: () => random.below(400) },
    { requests: 100, pauseMs: () => random.below(4_000) },
    { requests: 30, pauseMs: () => random.below(2 * minuteMs) },
    { requests: 5, pauseMs: () => random.below(8 * hourMs) },
  ]);
}

const years = amount(0.5, 10);

it.each(quotas)(
  `a key of $perMinute a minute and $perDay a day has exactly that for ${years} years, over restarts`,
  { timeout: 120_000 },
  async (quota) => {
    const random = new Random(4711);
    const startMs = Date.UTC(2026, 0, 1);
    const service = new Service(quota, startMs);
    const ledger = new Ledger(quota);
    const outcomes = { admitted: 0, refused: 0, banned: 0 };
    while (service.clockMs < startMs + years * yearMs) {
      const { requests, pauseMs } = drawHabit(random);
      // A client that heeds Retry-After must be admitted when it comes back; the others are banned in the end.
      const isPolite = random.below(3) > 0;
      let hasWaited = false;
      for (let request = 0; request < requests; request += 1) {
        const due = ledger.decide(service.clockMs);
        const decision = await service.request();
        if (decision.outcome !== due || (hasWaited && due !== "admitted")) {
          expect.unreachable(`${decision.outcome} at ${service.clockMs} was to be ${due}`);
        }
        outcomes[decision.outcome] += 1;
        hasWaited = isPolite && decision.outcome !== "admitted";
        service.clockMs += hasWaited ? decision.shown.resetAfterSeconds * 1_000 : pauseMs();
      }
      if (random.below(20) === 0) {
        await service.restart();
      }
    }
    await service.close();
    for (const count of Object.values(outcomes)) {
      expect(count).toBeGreaterThan(100 * years);
    }
  },
);

it("the clock may be set back and forth: nobody is kept out for longer than by the limits", async () => {
  const random = new Random(42);
  const quota = { perMinute: 5, perDay: 40 };
  const service = new Service(quota, Date.UTC(2026, 0, 1));
  for (let jump = 0; jump < amount(3_000, 300_000); jump += 1) {
    service.clockMs += random.below(2 * yearMs) - yearMs;
    let decision = await service.request();
    for (let request = random.below(40); request > 0; request -= 1) {
      decision = await service.request();
    }
    const waitMs = decision.outcome === "admitted" ? 0 : decision.shown.resetAfterSeconds * 1_000;
    expect(waitMs).toBeLessThanOrEqual(dayMs);
    service.clockMs += waitMs;
    expect((await service.request()).outcome).toBe(waitMs > 0 || decision.shown.remaining > 0 ? "admitted" : "refused");
  }
  await service.close();
});
