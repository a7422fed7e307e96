import { table } from "./markdown-table.ts";
import { type Verdict, verdictCells, verdictTitles } from "./verdict.ts";

/** The verdicts of a scenario. */
export interface JudgedScenario {
  readonly title: string;
  readonly verdicts: readonly Verdict[];
}

/** All targets with a bound, of all scenarios, in one table, as Markdown. */
export function reportTargets(scenarios: readonly JudgedScenario[]): string {
  const rows = scenarios.flatMap(({ title, verdicts }) =>
    verdicts
      .filter(({ outcome }) => outcome !== "–")
      .map((verdict) => [title, verdict.of, verdict.target.against, ...verdictCells(verdict)]),
  );
  const reached = rows.filter((row) => row.includes("reached")).length;
  return [
    `## Targets: ${reached} of ${rows.length} reached`,
    table(["", "contender", "against", ...verdictTitles], rows),
  ].join("\n\n");
}
