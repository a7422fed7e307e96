import { parseArgs } from "node:util";
import type { Plan } from "./measure.ts";

/** What a run of the bench is to do. */
export interface Command {
  readonly plan: Plan;
  /** Only scenarios whose title contains it. */
  readonly only: string;
  /** Whether `RESULTS.md` is written. */
  readonly isPublished: boolean;
}

export const helpText = `The service and its peers, side by side, on Linux: writes bench/RESULTS.md.

Usage: npm run bench -- [flags]

  --quick      shorter rounds, and fewer
  --trial      one round of 1 s, to see that everything runs; writes no file
  --only TEXT  only scenarios whose title contains the text; writes no file
  --help       this text

It needs wrk. bench/README.md says what else it uses, and what its figures mean.`;

const thorough: Plan = {
  rounds: 3,
  roundSeconds: 4,
  warmUpSeconds: 5,
  longRoundSeconds: 600,
  probeSeconds: 2,
  profiledSeconds: 5,
};
const quick: Plan = {
  rounds: 2,
  roundSeconds: 2,
  warmUpSeconds: 1,
  longRoundSeconds: 20,
  probeSeconds: 1,
  profiledSeconds: 3,
};
const trial: Plan = {
  rounds: 1,
  roundSeconds: 1,
  warmUpSeconds: 1,
  longRoundSeconds: 1,
  probeSeconds: 1,
  profiledSeconds: 0,
};

/** Reads the arguments. Throws on an unknown one. */
export function parseCommand(args: readonly string[]): Command | "help" {
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { quick: flag, trial: flag, help: flag, only: { type: "string", default: "" } },
  });
  if (values.help) {
    return "help";
  }
  const shorter = values.quick ? quick : thorough;
  return { plan: values.trial ? trial : shorter, only: values.only, isPublished: values.only === "" && !values.trial };
}
