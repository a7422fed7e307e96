import type { ContenderResult } from "../measure.ts";
import type { Scenario } from "../scenario.ts";
import { table } from "./markdown-table.ts";
import { judge, type Verdict, verdictCells, verdictTitles } from "./verdict.ts";

/** The tables of one scenario, as Markdown that is readable on a terminal, too. */
export function reportScenario({ title, targets }: Scenario, results: readonly ContenderResult[]): string {
  const verdicts = targets.length === 0 ? [] : [verdictsTable(judge(targets, results))];
  return [`## ${title}`, resultsTable(results), ...verdicts].join("\n\n");
}

/** A figure of a contender. A column without any figure is left out. */
interface Column {
  readonly title: string;
  readonly value: (result: ContenderResult) => number;
  readonly format: (value: number) => string;
}

const columns: readonly Column[] = [
  { title: "requests/s", value: ({ round }) => round.requestsPerSecond, format: count },
  { title: "p50 ms", value: ({ round }) => round.p50Us, format: milliseconds },
  { title: "p99 ms", value: ({ round }) => round.p99Us, format: milliseconds },
  { title: "p99.9 ms", value: ({ round }) => round.p999Us, format: milliseconds },
  { title: "longest GC ms", value: ({ round }) => round.longestPauseMs, format: (ms) => ms.toFixed(2) },
  { title: "CPU µs/request", value: ({ round }) => round.cpuUsPerRequest, format: microseconds },
  { title: "PostgreSQL's", value: ({ round }) => round.databaseCpuUsPerRequest, format: microseconds },
  { title: "Valkey's", value: ({ round }) => round.limitsCpuUsPerRequest, format: microseconds },
  {
    title: "system calls/request",
    value: ({ probe }) => probe?.systemCallsPerRequest ?? NaN,
    format: (calls) => calls.toFixed(2),
  },
  { title: "allocated B/request", value: ({ probe }) => probe?.allocatedBytesPerRequest ?? NaN, format: count },
  { title: "late p99 ms", value: ({ round }) => round.lateP99Us, format: milliseconds },
  { title: "load's core", value: ({ round }) => round.loadShare, format: (share) => `${Math.round(share * 100)} %` },
];

function resultsTable(results: readonly ContenderResult[]): string {
  const shown = columns.filter(({ value }) => results.some((result) => isKnown(value(result))));
  const rows = results.map((result) => [
    result.name,
    ...shown.map(({ value, format }) => (isKnown(value(result)) ? format(value(result)) : "–")),
  ]);
  return table(["", ...shown.map(({ title }) => title)], rows);
}

function verdictsTable(verdicts: readonly Verdict[]): string {
  const isNamed = verdicts.some(({ target }) => target.of !== undefined);
  const rows = verdicts.map((verdict) => [
    ...(isNamed ? [verdict.of] : []),
    verdict.target.against,
    ...verdictCells(verdict),
  ]);
  return table([...(isNamed ? [""] : []), "against", ...verdictTitles], rows);
}

function isKnown(value: number): boolean {
  return Number.isFinite(value);
}

function count(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: value < 100 ? 1 : 0 });
}

function milliseconds(us: number): string {
  return (us / 1000).toFixed(2);
}

function microseconds(us: number): string {
  return us.toFixed(1);
}
