import { expect, it } from "vitest";
import { measure } from "../../bench/measure.ts";
import { unmeasured } from "../../bench/round.ts";
import type { MeasuredRun } from "../../bench/scenario.ts";

const plan = {
  rounds: 2,
  roundSeconds: 5,
  warmUpSeconds: 3,
  longRoundSeconds: 7,
  probeSeconds: 1,
  profiledSeconds: 0,
};

it("measures contenders in turn, every other round in reverse order, and probes them afterwards", async () => {
  const log: string[] = [];
  const runOf = (name: string): MeasuredRun => ({
    name,
    run: async (seconds) => {
      log.push(`${name} ${seconds}`);
      return { ...unmeasured, requestsPerSecond: log.length };
    },
    probe: async (seconds) => {
      log.push(`probe ${name} ${seconds}`);
      return { systemCallsPerRequest: 1, allocatedBytesPerRequest: 2 };
    },
  });
  const scenario = { title: "", targets: [], start: async () => [runOf("a"), runOf("b")] };
  const [a, b] = await measure(scenario, plan);
  expect(log).toEqual(["a 3", "b 3", "a 5", "b 5", "b 5", "a 5", "probe a 1", "probe b 1"]);
  expect(a?.rounds.map((round) => round.requestsPerSecond)).toEqual([3, 6]);
  expect(b?.rounds.map((round) => round.requestsPerSecond)).toEqual([4, 5]);
  expect(a?.round.requestsPerSecond).toBe(4.5);
  expect(a?.probe?.allocatedBytesPerRequest).toBe(2);
});

it("measures a long scenario in one long round", async () => {
  const seconds: number[] = [];
  const run = async (each: number) => {
    seconds.push(each);
    return unmeasured;
  };
  await measure({ title: "", targets: [], isLong: true, start: async () => [{ name: "a", run }] }, plan);
  expect(seconds).toEqual([3, 7]);
});
