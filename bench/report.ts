import type { Standing } from "./measure.ts";
import type { Round } from "./round.ts";
import type { Metric, Scenario, Target } from "./scenario.ts";

/** The tables of one scenario, as Markdown that is readable on a terminal, too. */
export function reportScenario({ title, targets }: Scenario, standings: readonly Standing[]): string {
  return [`## ${title}`, standingsTable(standings), targetsTable(targets, standings)].join("\n\n");
}

function standingsTable(standings: readonly Standing[]): string {
  const rows = standings.map(({ name, round }) => [
    name,
    count(round.requestsPerSecond),
    milliseconds(round.p50Us),
    milliseconds(round.p99Us),
    Number.isNaN(round.cpuUsPerRequest) ? "–" : round.cpuUsPerRequest.toFixed(1),
    `${Math.round(round.loadShare * 100)} %`,
  ]);
  return table(["", "requests/s", "p50 ms", "p99 ms", "CPU µs/request", "load's core"], rows);
}

const metricNames: Record<Metric, string> = {
  requestsPerSecond: "requests/s",
  changesPerSecond: "changes/s",
  p99Us: "p99",
};

function targetsTable(targets: readonly Target[], standings: readonly Standing[]): string {
  const isNamed = targets.some(({ of }) => of !== undefined);
  const rows = targets.map((target) => {
    const ratio = ratioOf(target.metric, target, standings);
    return [
      ...(isNamed ? [target.of ?? ""] : []),
      target.against,
      metricNames[target.metric],
      times(ratio),
      ...verdict(ratio, target),
      times(ratioOf("cpuUsPerRequest", target, standings)),
    ];
  });
  return table([...(isNamed ? [""] : []), "against", "of", "ratio", "to reach", "", "CPU ratio"], rows);
}

/** The targets, and whether each is reached. */
function verdict(ratio: number, { atLeast, atMost }: Target): [bound: string, outcome: string] {
  if (atLeast !== undefined) {
    return [`at least ${atLeast} ×`, ratio >= atLeast ? "reached" : "missed"];
  }
  return atMost === undefined ? ["–", "–"] : [`at most ${atMost} ×`, ratio <= atMost ? "reached" : "missed"];
}

/** A contender's median, as a multiple of the other one's. */
function ratioOf(metric: keyof Round, { of, against }: Target, standings: readonly Standing[]): number {
  const figure = (name: string | undefined) => standings.find((each) => each.name === name)?.round[metric] ?? NaN;
  return figure(of ?? standings[0]?.name) / figure(against);
}

function count(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: value < 100 ? 1 : 0 });
}

function times(ratio: number): string {
  return Number.isNaN(ratio) ? "–" : `${ratio.toFixed(2)} ×`;
}

function milliseconds(microseconds: number): string {
  return (microseconds / 1000).toFixed(2);
}

/** A Markdown table: the first column to the left, all others to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => pad(cells[column] ?? "", width, column)).join(" | ")} |`;
  const rule = widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

function pad(text: string, width: number, column: number): string {
  return column === 0 ? text.padEnd(width) : text.padStart(width);
}
