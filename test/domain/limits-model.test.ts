import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide, noUsage } from "../../src/domain/limits.ts";
import { LimitsModel, quotas, starts, steps } from "../support/limits-model.ts";

const minuteMs = 60_000;

describe("the limits", () => {
  it("decide on any history as a naive model does", () => {
    fc.assert(
      fc.property(quotas, starts, fc.array(steps, { maxLength: 60 }), (quota, startMs, history) => {
        const model = new LimitsModel(quota);
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
            if (decision.outcome !== "admitted") {
              const { remaining, resetAtSeconds, resetAfterSeconds } = decision.shown;
              expect(remaining).toBe(0);
              expect(outcomeAt(nowMs + resetAfterSeconds * 1_000)).toBe("admitted");
              expect(outcomeAt(resetAtSeconds * 1_000)).toBe("admitted");
              expect(outcomeAt(nowMs + (resetAfterSeconds - 1) * 1_000)).not.toBe("admitted");
              expect(outcomeAt((resetAtSeconds - 1) * 1_000)).not.toBe("admitted");
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
