import { medianRound, type Round } from "./round.ts";
import type { Bout, Probe, Scenario } from "./scenario.ts";

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
export interface Standing {
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
export async function measure(scenario: Scenario, plan: Plan): Promise<Standing[]> {
  await using held = new AsyncDisposableStack();
  const bouts = await scenario.start(held);
  for (const bout of bouts) {
    await bout.run(plan.warmUpSeconds);
  }
  const [count, seconds] = scenario.isLong ? [1, plan.longRoundSeconds] : [plan.rounds, plan.roundSeconds];
  const rounds = new Map(bouts.map((bout) => [bout, [] as Round[]]));
  for (let round = 0; round < count; round += 1) {
    for (const bout of round % 2 === 0 ? bouts : bouts.toReversed()) {
      rounds.get(bout)?.push(await bout.run(seconds));
    }
  }
  const standings: Standing[] = [];
  for (const bout of bouts) {
    standings.push(await standingOf(bout, rounds.get(bout) ?? [], plan));
  }
  return standings;
}

async function standingOf(bout: Bout, rounds: readonly Round[], { probeSeconds }: Plan): Promise<Standing> {
  return { name: bout.name, rounds, round: medianRound(rounds), probe: await bout.probe?.(probeSeconds) };
}
