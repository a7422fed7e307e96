import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Quota } from "../../src/domain/key.ts";
import { decide } from "../../src/domain/limits.ts";
import { noUsage } from "../../src/domain/usage.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;
const banLengthsMs = [120_000, 600_000, 3_600_000, 21_600_000, 86_400_000];

/** The rules once more, told from the whole history of a key each time, as naively as can be. */
class Model {
  readonly #quota: Quota;
  readonly #admittedAt: number[] = [];
  #refusedAt: number[] = [];
  readonly #bans: { startMs: number; endMs: number; step: number }[] = [];

  constructor(quota: Quota) {
    this.#quota = quota;
  }

  decide(nowMs: number): "admitted" | "refused" | "banned" {
    if (nowMs < (this.#bans.at(-1)?.endMs ?? 0)) {
      return "banned";
    }
    const used = (lengthMs: number) => countInLastWindow(this.#admittedAt, lengthMs, nowMs);
    if (used(minuteMs) < this.#quota.perMinute && used(dayMs) < this.#quota.perDay) {
      this.#admittedAt.push(nowMs);
      return "admitted";
    }
    this.#refusedAt.push(nowMs);
    if (countInLastWindow(this.#refusedAt, minuteMs, nowMs) < Math.max(20, this.#quota.perMinute)) {
      return "refused";
    }
    this.#ban(nowMs);
    return "banned";
  }

  unban(nowMs: number): void {
    this.#refusedAt = [];
    const last = this.#bans.at(-1);
    if (last !== undefined) {
      last.endMs = Math.min(last.endMs, nowMs);
    }
  }

  #ban(nowMs: number): void {
    const last = this.#bans.at(-1);
    let step = last?.step ?? 0;
    for (let cleanMs = nowMs - (last?.endMs ?? 0); cleanMs >= dayMs && step > 0; cleanMs -= dayMs) {
      step -= 1;
    }
    step = Math.min(step + 1, 5);
    this.#bans.push({ startMs: nowMs, endMs: nowMs + (banLengthsMs[step - 1] ?? 0), step });
    this.#refusedAt = [];
  }
}

/** Cuts a history into fixed windows, each opened by the first that it counts, and counts in the one in force. */
function countInLastWindow(times: readonly number[], lengthMs: number, nowMs: number): number {
  let openedAt = Number.NEGATIVE_INFINITY;
  let count = 0;
  for (const time of times) {
    if (time >= openedAt + lengthMs) {
      openedAt = time;
      count = 0;
    }
    count += 1;
  }
  return nowMs < openedAt + lengthMs ? count : 0;
}

type Step = { readonly waitMs: number; readonly times: number } | "unban";

/** Bursts and pauses: mostly short, sometimes to the very edge of a window or a ban. */
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ waitMs: waits(), times: fc.integer({ min: 1, max: 30 }) }) },
  { weight: 1, arbitrary: fc.constant("unban" as const) },
);

function waits(): fc.Arbitrary<number> {
  return fc.oneof(
    fc.nat(2_000),
    fc.nat(90_000),
    fc.nat(2 * dayMs),
    fc.constantFrom(minuteMs - 1, minuteMs, dayMs - 1, dayMs, ...banLengthsMs, ...banLengthsMs.map((ms) => ms - 1)),
  );
}

const quotas = fc.record({ perMinute: fc.integer({ min: 1, max: 25 }), perDay: fc.integer({ min: 1, max: 60 }) });
const starts = fc.integer({ min: 1_600_000_000_000, max: 1_900_000_000_000 });

describe("the limits", () => {
  it("decide on any history as a naive model does", () => {
    fc.assert(
      fc.property(quotas, starts, fc.array(steps, { maxLength: 60 }), (quota, startMs, history) => {
        const model = new Model(quota);
        let [usage, unbans, nowMs] = [noUsage, 0, startMs];
        for (const step of history) {
          if (step === "unban") {
            unbans += 1;
            model.unban(nowMs);
            usage = chargeNothing(usage, unbans, nowMs);
            continue;
          }
          nowMs += step.waitMs;
          for (let n = 0; n < step.times; n += 1) {
            const decision = decide(usage, { quota, unbans }, nowMs);
            expect(decision.outcome).toBe(model.decide(nowMs));
            usage = decision.usage;
          }
        }
      }),
      { numRuns: 400 },
    );

    /** Lifts the ban at the moment of the unban, as the model does, by a decision that can charge nothing. */
    function chargeNothing(usage: typeof noUsage, unbans: number, nowMs: number) {
      const { ban } = decide(usage, { quota: { perMinute: 0, perDay: 0 }, unbans }, nowMs).usage;
      return { ...usage, ban, refusals: undefined, unbans };
    }
  });

  it("admit a client that waits as long as Retry-After or Reset says, and no sooner than a second before", () => {
    fc.assert(
      fc.property(quotas, starts, fc.array(steps, { maxLength: 40 }), (quota, startMs, history) => {
        let [usage, nowMs] = [noUsage, startMs];
        const outcomeAt = (ms: number) => decide(usage, { quota, unbans: 0 }, ms).outcome;
        for (const step of history.filter((each) => each !== "unban")) {
          nowMs += step.waitMs;
          for (let n = 0; n < step.times; n += 1) {
            const decision = decide(usage, { quota, unbans: 0 }, nowMs);
            usage = decision.usage;
            if (decision.retryAfterSeconds !== undefined) {
              expect(decision.headerValues.remaining).toBe(0);
              expect(outcomeAt(nowMs + decision.retryAfterSeconds * 1_000)).toBe("admitted");
              expect(outcomeAt(decision.headerValues.resetSeconds * 1_000)).toBe("admitted");
              expect(outcomeAt(nowMs + (decision.retryAfterSeconds - 1) * 1_000)).not.toBe("admitted");
              expect(outcomeAt((decision.headerValues.resetSeconds - 1) * 1_000)).not.toBe("admitted");
            }
          }
        }
      }),
      { numRuns: 400 },
    );
  });

  it("admit no more than the plan in the time of a window, though the clock is put back", () => {
    const jumps = fc.array(fc.tuple(fc.integer({ min: 0, max: 3 * minuteMs }), fc.nat(20_000), fc.nat(5)));
    fc.assert(
      fc.property(quotas, jumps, ({ perMinute }, history) => {
        const quota = { perMinute, perDay: 1_000_000 };
        let [usage, realMs, offsetMs] = [noUsage, 1_700_000_000_000, 0];
        const admittedAt: number[] = [];
        for (const [backMs, waitMs, times] of history) {
          realMs += waitMs;
          offsetMs -= backMs;
          for (let n = 0; n < times; n += 1) {
            const decision = decide(usage, { quota, unbans: 0 }, realMs + offsetMs);
            usage = decision.usage;
            if (decision.outcome === "admitted") {
              admittedAt.push(realMs);
            }
          }
        }
        // Fixed windows may lie back to back, so that twice the plan is the most in any one minute.
        const busiest = Math.max(
          0,
          ...admittedAt.map((t) => admittedAt.filter((u) => t <= u && u < t + minuteMs).length),
        );
        expect(busiest).toBeLessThanOrEqual(2 * perMinute);
      }),
      { numRuns: 400 },
    );
  });
});
