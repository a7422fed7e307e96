import { medianRound, type Round } from "./round.ts";
import type { Scenario } from "./scenario.ts";

/** How long to measure. */
export interface Plan {
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly warmUpSeconds: number;
  /** How long the service is profiled under each load; 0 for no profile. */
  readonly profiledSeconds: number;
}

/** The medians of one contender. */
export interface Standing {
  readonly name: string;
  readonly round: Round;
}

/**
 * Measures a scenario's contenders in turn, round by round, so that a disturbance of the machine affects all of them.
 */
export async function measure(scenario: Scenario, plan: Plan): Promise<Standing[]> {
  await using held = new AsyncDisposableStack();
  const bouts = await scenario.start(held);
  for (const bout of bouts) {
    await bout.run(plan.warmUpSeconds);
  }
  const rounds = bouts.map((): Round[] => []);
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const [index, bout] of bouts.entries()) {
      rounds[index]?.push(await bout.run(plan.roundSeconds));
    }
  }
  return bouts.map(({ name }, index) => ({ name, round: medianRound(rounds[index] ?? []) }));
}
