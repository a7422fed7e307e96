import type { Contender } from "./contender.ts";
import { boutOf } from "./corner.ts";
import type { DataSet } from "./data-set.ts";
import type { Load } from "./load/load.ts";
import { assertSameAnswer } from "./same-answer.ts";
import type { Scenario, Target } from "./scenario.ts";
import { serveCopy } from "./serve-copy.ts";

/** Runs the contenders' servers side by side, and puts one after the other under the same load. */
export interface SideBySide {
  readonly title: string;
  readonly contenders: readonly Contender[];
  readonly data: DataSet;
  readonly load: Load;
  /** How many updates are in flight at a time, and so may be unanswered at the end. Undefined for a load of lists. */
  readonly updatesAtATime?: number;
  readonly targets: readonly Target[];
  /** A folder for the contenders' copies of the store. */
  readonly directory: string;
}

export function sideBySide({ title, targets, contenders, updatesAtATime, ...options }: SideBySide): Scenario {
  const { data, load, directory } = options;
  return {
    title,
    targets,
    async start(held) {
      const writes =
        updatesAtATime === undefined ? undefined : { atATime: updatesAtATime, changesEach: 1, isSet: true };
      const corners = [];
      for (const contender of contenders) {
        corners.push({ contender, data, load, writes, ...(await serveCopy(contender, { data, directory, held })) });
      }
      if (writes === undefined) {
        const servers = corners.map(({ server }) => server);
        await assertSameAnswer(servers, "/v1/inventory", data.key);
      }
      return corners.map(boutOf);
    },
  };
}
