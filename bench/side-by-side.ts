import { join } from "node:path";
import type { Contender } from "./contender.ts";
import { copyStore, type DataSet } from "./data-set.ts";
import type { Load } from "./load/load.ts";
import { assertWritten, nextQuantity } from "./quantities.ts";
import type { Round } from "./round.ts";
import { assertSameAnswer } from "./same-answer.ts";
import type { Bout, Scenario, Target } from "./scenario.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

/** Runs the contenders' servers side by side, and puts one after the other under load. */
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

export function sideBySide(options: SideBySide): Scenario {
  const { title, targets, contenders } = options;
  return {
    title,
    targets,
    async start(held) {
      const bouts: Bout[] = [];
      const servers: ServerProcess[] = [];
      for (const contender of contenders) {
        const db = copyStore(options.data, join(options.directory, `${copies++}.db`));
        const server = await startServer(contender.command(db), await contender.environment?.());
        held.defer(() => server.stop());
        servers.push(server);
        bouts.push({ name: contender.name, run: (seconds) => runBout({ options, contender, db, server, seconds }) });
      }
      if (options.updatesAtATime === undefined) {
        await assertSameAnswer(servers, "/v1/inventory", options.data.key);
      }
      return bouts;
    },
  };
}

let copies = 0;

interface BoutParts {
  readonly options: SideBySide;
  readonly contender: Contender;
  readonly db: string;
  readonly server: ServerProcess;
  readonly seconds: number;
}

async function runBout({ options, contender, db, server, seconds }: BoutParts): Promise<Round> {
  const { data, load, updatesAtATime } = options;
  const firstQuantity = nextQuantity();
  const cpuBefore = server.cpuSeconds;
  const result = await load({ ...data, origin: server.origin, seconds, firstQuantity });
  const cpuSeconds = server.cpuSeconds - cpuBefore;
  if (result.failures > 0 || result.requests === 0) {
    throw new Error(`${contender.name}: ${result.failures} of ${result.requests} requests failed`);
  }
  if (updatesAtATime !== undefined && contender.isBare === undefined) {
    assertWritten(db, firstQuantity, Math.min(result.requests, data.petCount) - updatesAtATime);
  }
  return {
    requestsPerSecond: result.requests / result.seconds,
    p50Us: result.p50Us,
    p99Us: result.p99Us,
    cpuUsPerRequest: (cpuSeconds * 1e6) / result.requests,
    loadShare: result.loadCpuSeconds / result.seconds,
  };
}
