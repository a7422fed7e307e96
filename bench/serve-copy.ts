import { join } from "node:path";
import type { Contender } from "./contender.ts";
import { copyStore, type DataSet } from "./data-set.ts";
import type { LoadOrder } from "./load/load.ts";
import { nextQuantity } from "./quantities.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

let copies = 0;

/** What is needed to serve contenders. */
export interface ServeOptions {
  readonly data: DataSet;
  /** A folder for the copies. */
  readonly directory: string;
  /** Stops the servers. */
  readonly held: AsyncDisposableStack;
}

/** A contender's server on a store of its own. */
export interface Served {
  readonly contender: Contender;
  /** What the server's store holds. */
  readonly data: DataSet;
  readonly server: ServerProcess;
  /** Further servers of the same store. */
  readonly further: readonly ServerProcess[];
  /** The first process of the database's server. */
  readonly databasePid?: number | undefined;
  /** The process that counts limits. */
  readonly limitsPid?: number | undefined;
}

/** Serves all contenders that are not left out, each with a copy of a data set's store. */
export async function serveCopies(contenders: readonly Contender[], options: ServeOptions): Promise<Served[]> {
  const served: Served[] = [];
  for (const contender of contenders.filter(({ isUnavailable }) => isUnavailable !== true)) {
    served.push(await serveCopy(contender, options));
  }
  return served;
}

/** Starts a contender's servers on a copy of a data set's store. */
export async function serveCopy(contender: Contender, { data, directory, held }: ServeOptions): Promise<Served> {
  const { program, args, servers = 1, startDependencies, copyToDatabase } = contender;
  const copy = (await copyToDatabase?.(data)) ?? {
    data: { ...data, db: copyStore(data, join(directory, `${copies++}.db`)) },
    pid: undefined,
  };
  const dependencies = await startDependencies?.(held);
  const start = async () => {
    const started = await startServer({ program, args: args(copy.data.db), environment: dependencies?.environment });
    held.defer(() => started.stop());
    return started;
  };
  const server = await start();
  const further: ServerProcess[] = [];
  while (further.length + 1 < servers) {
    further.push(await start());
  }
  return { contender, data: copy.data, server, further, databasePid: copy.pid, limitsPid: dependencies?.limitsPid };
}

/** What a load generator is to do with a server, or with several of one store. */
export function orderFor(
  { data, server, further = [] }: Pick<Served, "data" | "server"> & Partial<Served>,
  seconds: number,
): LoadOrder {
  const { key, idsFile } = data;
  const furtherPorts = further.map(({ origin }) => Number(new URL(origin).port));
  return { key, idsFile, origin: server.origin, furtherPorts, seconds, firstQuantity: nextQuantity() };
}
