import type { ContenderResult } from "../measure.ts";
import type { Metric, Target } from "../scenario.ts";
import { pairedRatio, type Ratio } from "../statistics.ts";

export type Outcome = "reached" | "missed" | "not measured" | "–";

/** A target, and what came of it. */
export interface Verdict {
  readonly target: Target;
  /** Whose target it is. */
  readonly of: string;
  /** NaN if one of the contenders was left out. */
  readonly ratio: Ratio;
  readonly cpuRatio: Ratio;
  /** "–" for a target without a bound. */
  readonly outcome: Outcome;
}

/** Judges targets by the medians of the rounds' ratios. */
export function judge(targets: readonly Target[], results: readonly ContenderResult[]): Verdict[] {
  return targets.map((target) => {
    const ratio = ratioOf(target.metric, target, results);
    const cpuRatio = ratioOf("cpuUsPerRequest", target, results);
    const of = target.of ?? results[0]?.name ?? "";
    return { target, of, ratio, cpuRatio, outcome: outcomeOf(ratio.median, target) };
  });
}

/** The titles of `verdictCells`. */
export const verdictTitles = ["of", "ratio", "least–greatest", "to reach", "", "CPU ratio"];

export function verdictCells({ target, ratio, cpuRatio, outcome }: Verdict): string[] {
  return [
    metricNames[target.metric],
    times(ratio.median),
    Number.isNaN(ratio.median) ? "–" : `${ratio.least.toFixed(2)}–${ratio.greatest.toFixed(2)}`,
    boundOf(target),
    outcome,
    times(cpuRatio.median),
  ];
}

const metricNames: Record<Metric, string> = {
  requestsPerSecond: "requests/s",
  changesPerSecond: "changes/s",
  p99Us: "p99",
  cpuUsPerRequest: "CPU",
};

function outcomeOf(ratio: number, { atLeast = -Infinity, atMost = Infinity }: Target): Outcome {
  if (atLeast === -Infinity && atMost === Infinity) {
    return "–";
  }
  if (Number.isNaN(ratio)) {
    return "not measured";
  }
  return ratio >= atLeast && ratio <= atMost ? "reached" : "missed";
}

function boundOf({ atLeast, atMost }: Target): string {
  if (atLeast !== undefined) {
    return `at least ${atLeast} ×`;
  }
  return atMost === undefined ? "–" : `at most ${atMost} ×`;
}

/** A contender's figures as multiples of the other one's, round by round. */
function ratioOf(metric: Metric, { of, against }: Target, results: readonly ContenderResult[]): Ratio {
  const figures = (name: string | undefined) =>
    results.find((each) => each.name === name)?.rounds.map((round) => round[metric]) ?? [];
  return pairedRatio(figures(of ?? results[0]?.name), figures(against));
}

function times(ratio: number): string {
  return Number.isNaN(ratio) ? "–" : `${ratio.toFixed(2)} ×`;
}
