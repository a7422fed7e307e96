import fc from "fast-check";
import type { Quota } from "../../src/domain/key.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;
const banLengthsMs = [120_000, 600_000, 3_600_000, 21_600_000, 86_400_000];

/** The rules of the limits once more, told from the whole history of a key each time, as naively as can be. */
export class LimitsModel {
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

/** A step of a history: a burst of requests after a wait, or an unban. */
export type Step = { readonly waitMs: number; readonly times: number } | "unban";

/** Bursts and pauses: mostly short, sometimes to the very edge of a window or a ban. */
export const steps: fc.Arbitrary<Step> = fc.oneof(
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

export const quotas = fc.record({
  perMinute: fc.integer({ min: 1, max: 25 }),
  perDay: fc.integer({ min: 1, max: 60 }),
});
/** When a history begins, in milliseconds since the Unix epoch. */
export const starts = fc.integer({ min: 1_600_000_000_000, max: 1_900_000_000_000 });
