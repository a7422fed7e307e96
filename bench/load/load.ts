import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** What one run of a load generator is told. */
export interface LoadOrder {
  /** Where the contender listens, such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  readonly key: string;
  readonly seconds: number;
  /** A file with the ids of the pets, one a line, in the order in which they are updated. */
  readonly idsFile: string;
  /** The quantity of the run's first update; each further one sets one more, so that every update writes. */
  readonly firstQuantity: number;
}

/** What one run of a load generator has seen. */
export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** Answers that were no success, and connections that broke. */
  readonly failures: number;
  /** The generator's own CPU time. Near to `seconds`, it is what is measured, and not the server. */
  readonly loadCpuSeconds: number;
}

/** Puts a contender under load for a while. */
export type Load = (order: LoadOrder) => Promise<LoadResult>;

/** A generator that is a program of ours: it takes the order as JSON, and prints the result likewise. */
export function nodeLoad(file: string): Load {
  return async (order) => JSON.parse(await runLoad(process.execPath, [file, JSON.stringify(order)]));
}

/** Runs a generator to its end in a process of its own. Returns its stdout; throws when it fails. */
export async function runLoad(command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}
