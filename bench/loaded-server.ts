import { readCpuSeconds } from "./cpu-time.ts";
import type { Load, LoadResult } from "./load/load.ts";
import { countSystemCalls } from "./probe/system-calls.ts";
import { assertInHistory, assertWritten, readHead } from "./quantities.ts";
import { type Round, unmeasured } from "./round.ts";
import type { MeasuredRun, Probe } from "./scenario.ts";
import { orderFor, type Served } from "./serve-copy.ts";

/** What the requests of a load write. */
export interface Writes {
  /** How many requests are in flight at a time. These may be unanswered at the end. */
  readonly atATime: number;
  /** How many changes one request makes. */
  readonly changesEach: number;
  /** Whether they set quantities instead of adding to them. */
  readonly isSet: boolean;
}

/** A contender's server under one load. */
export interface LoadedServer extends Served {
  /** The contender's by default. */
  readonly name?: string;
  readonly load: Load;
  /** Undefined for a load of reads. */
  readonly writes?: Writes | undefined;
}

/**
 * The run of a loaded server. A round throws if a request fails, or if its update is not in the store afterwards. Several
 * servers are not probed.
 */
export function runOf(loaded: LoadedServer): MeasuredRun {
  const { contender, name = contender.name, further } = loaded;
  const run = (seconds: number) => runRound(loaded, seconds);
  return further.length > 0 ? { name, run } : { name, run, probe: (seconds) => probe(loaded, seconds) };
}

async function runRound(loaded: LoadedServer, seconds: number): Promise<Round> {
  const { server, writes } = loaded;
  await server.read();
  const cpuBefore = readCpuOf(loaded);
  const result = await runLoad(loaded, seconds);
  if (result.requests === 0) {
    throw new Error(`${loaded.contender.name} answered no request in ${seconds} s`);
  }
  const cpuAfter = readCpuOf(loaded);
  const cpuUsPerRequest = (of: keyof CpuOf) => ((cpuAfter[of] - cpuBefore[of]) * 1e6) / result.requests;
  const reading = await server.read();
  return {
    ...unmeasured,
    requestsPerSecond: result.requests / result.seconds,
    changesPerSecond: (result.requests * (writes?.changesEach ?? NaN)) / result.seconds,
    p50Us: result.p50Us,
    p99Us: result.p99Us,
    cpuUsPerRequest: cpuUsPerRequest("servers"),
    databaseCpuUsPerRequest: cpuUsPerRequest("database"),
    limitsCpuUsPerRequest: cpuUsPerRequest("limits"),
    loadShare: result.loadCpuSeconds / result.seconds,
    ...(result.tail && { ...result.tail, longestPauseMs: reading?.longestPauseMs ?? NaN }),
  };
}

/** The CPU seconds that each process has used so far, with its children. NaN where there is no such process. */
interface CpuOf {
  readonly servers: number;
  readonly database: number;
  readonly limits: number;
}

function readCpuOf({ server, further, databasePid, limitsPid }: Served): CpuOf {
  const cpuOf = (pid: number | undefined) => (pid === undefined ? NaN : readCpuSeconds(pid));
  return {
    servers: [server, ...further].reduce((seconds, each) => seconds + each.cpuSeconds, 0),
    database: cpuOf(databasePid),
    limits: cpuOf(limitsPid),
  };
}

async function probe(loaded: LoadedServer, seconds: number): Promise<Probe> {
  const { server } = loaded;
  const before = await server.read();
  const { requests } = await runLoad(loaded, seconds);
  const after = await server.read();
  const allocatedBytes = (after?.allocatedBytes ?? NaN) - (before?.allocatedBytes ?? NaN);
  return {
    allocatedBytesPerRequest: allocatedBytes / requests,
    systemCallsPerRequest: await countCallsPerRequest(loaded, seconds),
  };
}

/** How often the run under `strace` is repeated, each time twice as long, while a slow server answers nothing. */
const attempts = 4;

async function countCallsPerRequest(loaded: LoadedServer, seconds: number): Promise<number> {
  let requests = 0;
  let systemCalls = NaN;
  for (let attempt = 0; attempt < attempts && requests === 0; attempt += 1) {
    systemCalls = await countSystemCalls(loaded.server.pid, async () => {
      requests = (await runLoad(loaded, seconds * 2 ** attempt)).requests;
    });
  }
  return systemCalls / requests;
}

/** Puts the server under load, and verifies that the answered updates are in the store. */
async function runLoad(loaded: LoadedServer, seconds: number): Promise<LoadResult> {
  const { contender, data, load, writes } = loaded;
  const order = orderFor(loaded, seconds);
  const hasHistory = contender.hasHistory === true && writes !== undefined;
  const head = hasHistory ? await readHead(data.db) : 0;
  const result = await load(order);
  if (result.failures > 0) {
    throw new Error(`${contender.name}: ${result.failures} of ${result.requests} requests failed`);
  }
  const { changesEach = NaN, atATime = 0, isSet = false } = writes ?? {};
  if (isSet && contender.isBare === undefined) {
    const updated = Math.min(result.requests * changesEach, data.petCount);
    await assertWritten(data.db, order.firstQuantity, updated - atATime * changesEach);
  }
  if (hasHistory) {
    await assertInHistory(data.db, head, (result.requests - atATime) * changesEach);
  }
  return result;
}
