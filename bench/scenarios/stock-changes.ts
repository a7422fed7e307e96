import type { Contender } from "../contender.ts";
import type { DataSet } from "../data-set.ts";
import { type RequestKind, wrkLoad } from "../load/wrk.ts";
import { type LoadedServer, runOf, type Writes } from "../loaded-server.ts";
import type { Scenario, Target } from "../scenario.ts";
import { serveCopy } from "../serve-copy.ts";
import { historyLength } from "./long-history.ts";

const connections = 64;

/** As in `load/requests.lua`. */
const batchSize = 100;

/** The ways to change stock, and a read for comparison: each at 64 connections. */
const ways = [
  { name: "PATCH", kind: "patch", writes: writing({ isSet: true }) },
  { name: "PATCH, Idempotency-Key", kind: "keyed", writes: writing({ isSet: true }) },
  { name: ":adjust", kind: "adjust", writes: writing({ isSet: false }) },
  { name: `batch of ${batchSize}`, kind: "batch", writes: writing({ isSet: true, changesEach: batchSize }) },
  { name: "page of 20", kind: "page", writes: undefined },
] as const satisfies { name: string; kind: RequestKind; writes: Writes | undefined }[];

function writing({ isSet, changesEach = 1 }: { isSet: boolean; changesEach?: number }): Writes {
  return { atATime: connections, changesEach, isSet };
}

interface StockChanges {
  readonly service: Contender;
  readonly data: DataSet;
  /** The same pets, with a long history. Prepared when the scenario starts. */
  readonly prepareLongHistory: () => DataSet;
  readonly directory: string;
}

/** The ways to change stock beside each other, on a store without changes and on one with a long history. */
export function stockChanges({ service, data, prepareLongHistory, directory }: StockChanges): Scenario {
  return {
    title: `Changes of stock over REST, ${connections} connections`,
    targets: [
      { of: ":adjust", against: "PATCH", metric: "requestsPerSecond", atLeast: 0.9 },
      { of: "PATCH, Idempotency-Key", against: "PATCH", metric: "requestsPerSecond", atLeast: 0.7 },
      { of: `batch of ${batchSize}`, against: "PATCH", metric: "changesPerSecond", atLeast: 10 },
      ...ways.map(({ name }): Target => {
        return { of: afterMany(name), against: name, metric: "requestsPerSecond", atLeast: 0.95 };
      }),
    ],
    async start(held) {
      const long = prepareLongHistory();
      // One server on each store serves all ways, because a copy of the long history is large.
      const fresh = await serveCopy(service, { data, directory, held });
      const old = await serveCopy(service, { data: long, directory, held });
      return ways.flatMap(({ name, kind, writes }) => {
        const load = wrkLoad(kind, connections);
        const loaded: LoadedServer[] = [
          { ...fresh, name, load, writes },
          { ...old, name: afterMany(name), load, writes },
        ];
        return loaded.map(runOf);
      });
    },
  };
}

/** One client makes many changes, one by one or in batches. It sends each request after the answer to the last one. */
export function changesOfOneClient({ service, data, directory }: Omit<StockChanges, "prepareLongHistory">): Scenario {
  const [single, batch] = ["PATCH", `batch of ${batchSize}`];
  return {
    title: "Changes of stock over REST, one client, one request after another",
    targets: [{ of: batch, against: single, metric: "changesPerSecond", atLeast: 10 }],
    async start(held) {
      const server = await serveCopy(service, { data, directory, held });
      const writes = { atATime: 1, changesEach: 1, isSet: true };
      const loaded: LoadedServer[] = [
        { ...server, name: single, load: wrkLoad("patch", 1), writes },
        { ...server, name: batch, load: wrkLoad("batch", 1), writes: { ...writes, changesEach: batchSize } },
      ];
      return loaded.map(runOf);
    },
  };
}

function afterMany(name: string): string {
  return `${name}, after ${historyLength.toLocaleString("en")} changes`;
}
