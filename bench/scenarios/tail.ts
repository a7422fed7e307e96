import type { Contender } from "../contender.ts";
import type { DataSet } from "../data-set.ts";
import { openLoop } from "../load/node-loads.ts";
import { wrkLoad } from "../load/wrk.ts";
import { type LoadedServer, runOf, type Writes } from "../loaded-server.ts";
import type { MeasuredRun, Scenario } from "../scenario.ts";
import { orderFor, type Served, serveCopies } from "../serve-copy.ts";
import { assertSameAnswer } from "./same-answer.ts";

/** As in `load/open-loop.ts`. */
const connections = 128;

/** How long the search for a contender's top rate takes. */
const topRateSeconds = 3;

interface TailScenario {
  readonly title: string;
  readonly kind: "patch" | "read";
  readonly service: Contender;
  readonly peers: readonly Contender[];
  readonly data: DataSet;
  readonly directory: string;
}

/**
 * Latencies at half of each contender's own top rate, which `wrk` finds first, and the service's also at each peer's
 * rate.
 */
export function tailScenario({ title, kind, service, peers, data, directory }: TailScenario): Scenario {
  const writes: Writes | undefined =
    kind === "patch" ? { atATime: connections, changesEach: 1, isSet: true } : undefined;
  return {
    title,
    targets: peers.map(({ name }) => ({ of: atRateOf(name), against: name, metric: "p99Us" })),
    async start(held) {
      const served = await serveCopies([service, ...peers], { data, directory, held });
      await assertSameAnswer(served, `/v1/inventory/${data.firstId}`);
      const [own] = served;
      const runs: MeasuredRun[] = [];
      for (const each of served) {
        const load = openLoop({ kind, ratePerSecond: await findHalf(kind, each) });
        if (own !== undefined && each !== own) {
          runs.push(unprobed({ ...own, name: atRateOf(each.contender.name), load, writes }));
        }
        runs.push(unprobed({ ...each, load, writes }));
      }
      return runs;
    },
  };
}

/** The service alone, for long enough to see all that V8's collector does, at half of its top rate. */
export function longScenario({ title, kind, service, data, directory }: Omit<TailScenario, "peers">): Scenario {
  return { ...tailScenario({ title, kind, service, peers: [], data, directory }), isLong: true };
}

/** A server under `strace` answers fewer requests than come, so it is not probed. */
function unprobed(loaded: LoadedServer): MeasuredRun {
  const probed = runOf(loaded);
  return { name: probed.name, run: (seconds) => probed.run(seconds) };
}

function atRateOf(name: string): string {
  return `petstore, at the rate of ${name}`;
}

/** Half of the requests a second that a server answers when each of 64 connections sends its next request at once. */
async function findHalf(kind: TailScenario["kind"], served: Served): Promise<number> {
  const { requests, seconds } = await wrkLoad(kind, 64)(orderFor(served, topRateSeconds));
  return Math.round(requests / seconds / 2);
}
