import { parentPort, workerData } from "node:worker_threads";
import type { Connection, ConnectionOptions } from "./connection.ts";
import { openDatabase } from "./database.ts";
import { isMediumFailure } from "./driver-error.ts";
import { type Outcome, type Write, writes } from "./writes.ts";

/** What the thread is started with. */
export interface WriterThreadData {
  readonly path: string;
  readonly options: ConnectionOptions;
}

const { path, options } = workerData as WriterThreadData;
const connection = openDatabase(path, options);

parentPort?.on("message", (group: readonly Write[] | "close") => {
  if (group === "close") {
    connection.close();
    parentPort?.close();
  } else {
    parentPort?.postMessage(runGroup(group));
  }
});

/** Commits a group with one sync. When that fails, none of it has been done. */
function runGroup(group: readonly Write[]): Outcome[] {
  try {
    return connection.atomically(() => group.map(runWrite));
  } catch (error) {
    return group.map(() => toFailure(error));
  }
}

/** A failed statement leaves the others of its group alone, unless SQLite has rolled the whole transaction back. */
function runWrite({ name, args }: Write): Outcome {
  const write = writes[name] as (connection: Connection, ...args: unknown[]) => unknown;
  try {
    return { value: write(connection, ...args) };
  } catch (error) {
    if (!connection.inTransaction) {
      throw error;
    }
    return toFailure(error);
  }
}

function toFailure(error: unknown): Outcome {
  return { error: error as Error, isMediumFailure: isMediumFailure(error) };
}
