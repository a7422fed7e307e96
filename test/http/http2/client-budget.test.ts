import { setImmediate } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ClientBudget } from "../../../src/http/http2/client-budget.ts";

/** The time, in milliseconds. */
let nowMs: number;
let budget: ClientBudget;

beforeEach(() => {
  nowMs = 1_000_000;
  const now = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  onTestFinished(() => now.mockRestore());
  budget = new ClientBudget();
});

describe.each<[what: string, burst: number, perSecond: number, count: (budget: ClientBudget) => void]>([
  ["resets", 1_000, 100, (counting) => counting.countReset()],
  [
    "resets of streams that are younger than 10 ms",
    1_000,
    100,
    (counting) => counting.countResetSoonAfter(nowMs - 9.9),
  ],
  ["frames that achieve nothing", 10_000, 330, (counting) => counting.countIdleFrame()],
])("%s at once", (_what, burst, perSecond, count) => {
  /** Counts until the budget is used up, and returns how many it admitted. */
  function useUp(): number {
    for (let admitted = 0; ; admitted++) {
      try {
        count(budget);
      } catch {
        return admitted;
      }
    }
  }

  function take(times: number): void {
    for (let taken = 0; taken < times; taken++) {
      count(budget);
    }
  }

  it(`are ${burst} at most when a connection begins`, () => {
    expect(useUp()).toBe(burst);
  });

  it(`are ${burst} at most, however long the client was quiet before`, () => {
    nowMs += 3_600_000;
    expect(useUp()).toBe(burst);
  });

  it(`are ${burst} at most, though the client has used a part before it was quiet`, () => {
    take(burst / 2);
    nowMs += 3_600_000;
    expect(useUp()).toBe(burst);
  });

  it(`are ${perSecond} more for each second`, () => {
    take(burst);
    nowMs += 1_000;
    expect(useUp()).toBe(perSecond);
    nowMs += 2_000;
    expect(useUp()).toBe(2 * perSecond);
  });
});

it("resets of streams that are 10 ms old are free", () => {
  for (let count = 0; count < 20_000; count++) {
    budget.countResetSoonAfter(nowMs - 10);
  }
});

it("all streams of a turn of the event loop are as old as the first one", async () => {
  budget.countStream();
  const first = nowMs;
  nowMs += 5;
  budget.countStream();
  expect(budget.turnStartedAtMs).toBe(first);
  await setImmediate();
  nowMs += 5;
  budget.countStream();
  expect(budget.turnStartedAtMs).toBe(nowMs);
});

it("resets of streams that were opened in the same turn of the event loop count, however long it lasts", async () => {
  budget.countStream();
  const { turnStartedAtMs } = budget;
  nowMs += 50;
  const reset = () => {
    for (let count = 0; count < 2_000; count++) {
      budget.countResetSoonAfter(turnStartedAtMs);
    }
  };
  expect(reset).toThrow("too many streams are reset");
  await setImmediate();
  reset();
});
