import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** The input of one run of a load generator. */
export interface LoadOrder {
  /** Where the contender listens, such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  /** The ports of further servers of the same store, which have their share of `wrk`'s connections. */
  readonly furtherPorts?: readonly number[];
  readonly key: string;
  readonly seconds: number;
  /** A file with the ids of the pets, one a line, in the order in which they are updated. */
  readonly idsFile: string;
  /** The quantity of the run's first update. Each further update adds one, so that every update writes. */
  readonly firstQuantity: number;
}

/** The result of one run of a load generator. */
export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** Failed answers and broken connections. */
  readonly failures: number;
  /** The generator's own CPU time. Near `seconds`, the figures measure the generator and not the server. */
  readonly loadCpuSeconds: number;
  /** For a load at a fixed rate only. */
  readonly tail?: Tail;
}

/** What else is known of a load at a fixed rate. */
export interface Tail {
  readonly p999Us: number;
  /** How late the generator itself was: 99 % of the requests were sent less late than this. */
  readonly lateP99Us: number;
}

/** Puts a contender under load for a while. */
export type Load = (order: LoadOrder) => Promise<LoadResult>;

/** A generator of ours: a program that takes the order and its own options as JSON, and prints the result as JSON. */
export function nodeLoad(file: string, options: object = {}): Load {
  return async (order) => JSON.parse(await runLoad(process.execPath, [file, JSON.stringify({ ...order, ...options })]));
}

/** Runs a generator to its end in a process of its own. Returns its stdout; throws when it fails. */
export async function runLoad(
  command: string,
  args: readonly string[],
  environment?: NodeJS.ProcessEnv,
): Promise<string> {
  const env = { ...process.env, ...environment };
  const { stdout } = await promisify(execFile)(command, args, { maxBuffer: 64 * 1024 * 1024, env });
  return stdout;
}
