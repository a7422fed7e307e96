import { parentPort, workerData } from "node:worker_threads";
import type { Connection, ConnectionOptions } from "./connection.ts";
import { openDatabase } from "./database.ts";
import { isMediumFailure } from "./driver-error.ts";
import { type Group, type GroupOutcome, statusToCode } from "./group.ts";
import { updateQuantity } from "./pets.ts";
import { type Failure, type Outcome, type Write, writes } from "./writes.ts";

/** What the thread is started with. */
export interface WriterThreadData {
  readonly path: string;
  readonly options: ConnectionOptions;
}

const { path, options } = workerData as WriterThreadData;
const connection = openDatabase(path, options);

parentPort?.on("message", (group: Group | "close") => {
  if (group === "close") {
    connection.close();
    parentPort?.close();
  } else {
    parentPort?.postMessage(runGroup(group));
  }
});

/** Commits a group with one sync. When that fails, none of it has been done. */
function runGroup({ updates, writes }: Group): GroupOutcome | Failure {
  try {
    return connection.atomically(() => ({ updates: runUpdates(updates), writes: writes.map(runWrite) }));
  } catch (error) {
    return toFailure(error);
  }
}

function runUpdates(updates: BigInt64Array): Int8Array {
  const codes = new Int8Array(updates.length / 2);
  for (let index = 0; index < codes.length; index++) {
    const status = updateQuantity(connection, updates[2 * index] as bigint, updates[2 * index + 1] as bigint);
    codes[index] = statusToCode(status);
  }
  return codes;
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

function toFailure(error: unknown): Failure {
  return { error: error as Error, isMediumFailure: isMediumFailure(error) };
}
