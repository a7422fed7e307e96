import type { Contender } from "../contender.ts";
import type { DataSet } from "../data-set.ts";
import type { Load } from "../load/load.ts";
import { runOf } from "../loaded-server.ts";
import type { Scenario, Target } from "../scenario.ts";
import { type Served, serveCopies } from "../serve-copy.ts";

/**
 * Runs the contenders' servers side by side, and puts one after the other under the same load. It skips contenders that
 * are left out.
 */
export interface SideBySide {
  readonly title: string;
  readonly contenders: readonly Contender[];
  readonly data: DataSet;
  readonly load: Load;
  /** How many updates are in flight at a time. These may be unanswered at the end. Undefined for a load of reads. */
  readonly updatesAtATime?: number;
  /** For a load of reads: throws unless all servers answer the same. */
  readonly assertSame?: (served: readonly Served[]) => Promise<void>;
  readonly targets: readonly Target[];
  /** A folder for the contenders' copies of the store. */
  readonly directory: string;
}

export function sideBySide({
  title,
  targets,
  contenders,
  updatesAtATime,
  assertSame,
  data,
  load,
  directory,
}: SideBySide): Scenario {
  return {
    title,
    targets,
    async start(held) {
      const served = await serveCopies(contenders, { data, directory, held });
      await assertSame?.(served);
      return served.map((each) => {
        // Servers that share the pets go through them at different speeds, and may update some of them twice.
        const isSet = each.further.length === 0;
        const writes = updatesAtATime === undefined ? undefined : { atATime: updatesAtATime, changesEach: 1, isSet };
        return runOf({ ...each, load, writes });
      });
    },
  };
}
