import { describe, expect, it } from "vitest";
import type { ContenderResult } from "../../bench/measure.ts";
import { reportScenario } from "../../bench/report/scenario-report.ts";
import { reportTargets } from "../../bench/report/targets-report.ts";
import { judge, type Outcome } from "../../bench/report/verdict.ts";
import { medianRound, type Round, unmeasured } from "../../bench/round.ts";
import type { Probe, Target } from "../../bench/scenario.ts";

function result(name: string, rounds: readonly Partial<Round>[], probe?: Probe): ContenderResult {
  const whole = rounds.map((round) => ({ ...unmeasured, ...round }));
  return { name, rounds: whole, round: medianRound(whole), probe };
}

const ours = result("petstore", [
  { requestsPerSecond: 200, cpuUsPerRequest: 10 },
  { requestsPerSecond: 100, cpuUsPerRequest: 12 },
]);
// The machine was half as fast in the second round, for both.
const theirs = result("Fastify", [
  { requestsPerSecond: 100, cpuUsPerRequest: 20 },
  { requestsPerSecond: 50, cpuUsPerRequest: 24 },
]);

describe("a target", () => {
  const against = { against: "Fastify", metric: "requestsPerSecond" } as const;
  it.each<{ target: Target; outcome: Outcome }>([
    { target: { ...against, atLeast: 2 }, outcome: "reached" },
    { target: { ...against, atLeast: 2.01 }, outcome: "missed" },
    { target: { ...against, metric: "cpuUsPerRequest", atMost: 0.5 }, outcome: "reached" },
    { target: { ...against, metric: "cpuUsPerRequest", atMost: 0.49 }, outcome: "missed" },
    { target: { ...against, of: "Fastify", against: "petstore", atLeast: 1 }, outcome: "missed" },
    { target: against, outcome: "–" },
    { target: { ...against, against: "Rust axum", atLeast: 0.65 }, outcome: "not measured" },
  ])("is $outcome: $target", ({ target, outcome }) => {
    expect(judge([target], [ours, theirs]).map((verdict) => verdict.outcome)).toEqual([outcome]);
  });

  it("is judged by the rounds' own ratios", () => {
    const [verdict] = judge([against], [ours, theirs]);
    expect(verdict?.ratio).toEqual({ median: 2, least: 2, greatest: 2 });
    expect(verdict?.cpuRatio.median).toBe(0.5);
  });
});

describe("the report of a scenario", () => {
  const targets: Target[] = [
    { against: "Fastify", metric: "requestsPerSecond", atLeast: 2 },
    { against: "Rust axum", metric: "requestsPerSecond", atLeast: 0.65 },
  ];
  const probed = { ...ours, probe: { systemCallsPerRequest: 2.5, allocatedBytesPerRequest: 4096 } };
  const scenario = { title: "Updates", targets, start: async () => [] };
  const lines = reportScenario(scenario, [probed, theirs]).split("\n");

  it("has the columns of which a figure is known, and a dash for a single unknown one", () => {
    const cells = (line: string | undefined) => line?.split("|").map((cell) => cell.trim());
    expect(cells(lines[2])?.slice(1, -1)).toEqual([
      "",
      "requests/s",
      "CPU µs/request",
      "system calls/request",
      "allocated B/request",
    ]);
    expect(cells(lines[4])?.slice(1, -1)).toEqual(["petstore", "150", "11.0", "2.50", "4,096"]);
    expect(cells(lines[5])?.slice(1, -1)).toEqual(["Fastify", "75", "22.0", "–", "–"]);
  });

  it("has the CPU time of the database and of what counts limits beside the servers'", () => {
    const shared = result("three servers", [
      { cpuUsPerRequest: 50, databaseCpuUsPerRequest: 40, limitsCpuUsPerRequest: 9 },
    ]);
    const [head, , row] = reportScenario({ ...scenario, targets: [] }, [shared])
      .split("\n")
      .slice(2);
    expect(head).toMatch(/CPU µs\/request \| PostgreSQL's \| Valkey's/);
    expect(row).toMatch(/50\.0 \| +40\.0 \| +9\.0/);
  });

  it("says which contenders were left out", () => {
    expect(lines.at(-2)).toMatch(/Fastify.*2\.00 ×.*2\.00–2\.00.*at least 2 ×.*reached/);
    expect(lines.at(-1)).toMatch(/Rust axum.*–.*at least 0\.65 ×.*not measured/);
  });

  it("is summed up in one table of all targets", () => {
    const judged = [{ title: "Updates", verdicts: judge(targets, [probed, theirs]) }];
    const summary = reportTargets(judged).split("\n");
    expect(summary[0]).toBe("## Targets: 1 of 2 reached");
    const names = summary.slice(4).map((line) =>
      line
        .split("|")
        .slice(2, 4)
        .map((cell) => cell.trim()),
    );
    expect(names).toEqual([
      ["petstore", "Fastify"],
      ["petstore", "Rust axum"],
    ]);
  });
});
