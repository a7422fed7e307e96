import type { Contender } from "./contender.ts";
import type { DataSet } from "./data-set.ts";
import type { Load } from "./load/load.ts";
import { assertInHistory, assertWritten, nextQuantity, readHead } from "./quantities.ts";
import type { Round } from "./round.ts";
import type { Bout } from "./scenario.ts";
import type { ServerProcess } from "./server-process.ts";

/** What the requests of a load write. */
export interface Writes {
  /** How many requests are in flight at a time, and so may be unanswered at the end. */
  readonly atATime: number;
  /** How many changes one request makes. */
  readonly changesEach: number;
  /** Whether they set quantities, and do not add to them. */
  readonly isSet: boolean;
}

/** A contender's server under one load. */
export interface Corner {
  /** The contender's by default. */
  readonly name?: string;
  readonly contender: Contender;
  readonly data: DataSet;
  /** The store that the server has. */
  readonly db: string;
  readonly server: ServerProcess;
  readonly load: Load;
  /** Undefined for a load of reads. */
  readonly writes?: Writes | undefined;
}

/** What is put under load again and again. Throws where a request fails, or is not in the store afterwards. */
export function boutOf(corner: Corner): Bout {
  const { contender, name = contender.name } = corner;
  return { name, run: (seconds) => runBout(corner, seconds) };
}

async function runBout({ contender, data, db, server, load, writes }: Corner, seconds: number): Promise<Round> {
  const firstQuantity = nextQuantity();
  const hasHistory = contender.hasHistory === true && writes !== undefined;
  const head = hasHistory ? readHead(db) : 0;
  const cpuBefore = server.cpuSeconds;
  const result = await load({ ...data, origin: server.origin, seconds, firstQuantity });
  const cpuSeconds = server.cpuSeconds - cpuBefore;
  if (result.failures > 0 || result.requests === 0) {
    throw new Error(`${contender.name}: ${result.failures} of ${result.requests} requests failed`);
  }
  const { changesEach = NaN, atATime = 0, isSet = false } = writes ?? {};
  if (isSet && contender.isBare === undefined) {
    const updated = Math.min(result.requests * changesEach, data.petCount);
    assertWritten(db, firstQuantity, updated - atATime * changesEach);
  }
  if (hasHistory) {
    assertInHistory(db, head, (result.requests - atATime) * changesEach);
  }
  return {
    requestsPerSecond: result.requests / result.seconds,
    changesPerSecond: (result.requests * changesEach) / result.seconds,
    p50Us: result.p50Us,
    p99Us: result.p99Us,
    cpuUsPerRequest: (cpuSeconds * 1e6) / result.requests,
    loadShare: result.loadCpuSeconds / result.seconds,
  };
}
