import { join } from "node:path";
import type { Contender } from "./contender.ts";
import { copyStore, type DataSet } from "./data-set.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

let copies = 0;

/** What a contender is served with. */
interface Surroundings {
  readonly data: DataSet;
  /** A folder for the copies. */
  readonly directory: string;
  /** Stops the server. */
  readonly held: AsyncDisposableStack;
}

/** Starts a contender's server on a copy of a data set's store. */
export async function serveCopy(
  contender: Contender,
  { data, directory, held }: Surroundings,
): Promise<{ db: string; server: ServerProcess }> {
  const db = copyStore(data, join(directory, `${copies++}.db`));
  const server = await startServer(contender.command(db), await contender.environment?.());
  held.defer(() => server.stop());
  return { db, server };
}
