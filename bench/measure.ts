import { medianRound, type Round } from "./round.ts";
import type { MeasuredRun, Probe, Scenario } from "./scenario.ts";

/** How long to measure. */
export interface Plan {
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly warmUpSeconds: number;
  /** The one round of a long scenario. */
  readonly longRoundSeconds: number;
  /** How long each of the two runs takes: one counts allocations, the other one system calls. */
  readonly probeSeconds: number;
  /** How long the service is profiled under each load; 0 for no profile. */
  readonly profiledSeconds: number;
}

/** What was measured of one contender. */
export interface ContenderResult {
  readonly name: string;
  /** In their order: rounds with the same index are compared with each other. */
  readonly rounds: readonly Round[];
  /** The medians. */
  readonly round: Round;
  readonly probe: Probe | undefined;
}

/**
 * Measures a scenario's contenders in turn, round by round, so that a disturbance of the machine affects all of them.
 * Every other round has the reverse order. Counting that slows a server down comes after the rounds.
 */
export async function measure(scenario: Scenario, plan: Plan): Promise<ContenderResult[]> {
  await using held = new AsyncDisposableStack();
  const runs = await scenario.start(held);
  for (const each of runs) {
    await each.run(plan.warmUpSeconds);
  }
  const [count, seconds] = scenario.isLong ? [1, plan.longRoundSeconds] : [plan.rounds, plan.roundSeconds];
  const rounds = new Map(runs.map((each) => [each, [] as Round[]]));
  for (let round = 0; round < count; round += 1) {
    for (const each of round % 2 === 0 ? runs : runs.toReversed()) {
      rounds.get(each)?.push(await each.run(seconds));
    }
  }
  const results: ContenderResult[] = [];
  for (const each of runs) {
    results.push(await resultOf(each, rounds.get(each) ?? [], plan));
  }
  return results;
}

async function resultOf(run: MeasuredRun, rounds: readonly Round[], { probeSeconds }: Plan): Promise<ContenderResult> {
  return { name: run.name, rounds, round: medianRound(rounds), probe: await run.probe?.(probeSeconds) };
}
