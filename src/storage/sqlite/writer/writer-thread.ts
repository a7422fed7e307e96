import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { ChangeTopic } from "../../../domain/store.ts";
import { DamagedRowError } from "../column-values.ts";
import { type Connection, type ConnectionOptions, isMediumFailure } from "../connection.ts";
import { openDatabase } from "../database.ts";
import { FileIdentity, StoreFileError } from "../files/store-path.ts";
import { updateQuantity } from "../pets.ts";
import { ChangeTracker, countChange } from "./change-counters.ts";
import { type CommittedTasks, failedUpdate, type GroupOutcome, statusToCode, UpdateQueue } from "./update-queue.ts";
import { type Failure, type Outcome, type Task, writes, writeTopics } from "./writes.ts";

/** What the thread is started with. */
export interface WriterThreadData {
  readonly path: string;
  readonly options: ConnectionOptions;
  /** The memory of the queue that updates come by. */
  readonly updates: SharedArrayBuffer;
}

/** What the thread is told: to look at the queue of updates, to do another task, or to end. */
export type WriterMessage = "wake" | Task | "close";

const { path, options, updates: memory } = workerData as WriterThreadData;
const connection = openDatabase(path, options);
const file = new FileIdentity(path);
const changes = new ChangeTracker(connection);
const queue = new UpdateQueue(memory);
const port = parentPort as MessagePort;

port.on("message", (first: WriterMessage) => {
  const messages = [first, ...waitingMessages()];
  commitAll(messages.filter((message) => typeof message === "object"));
  if (messages.includes("close")) {
    connection.close();
    port.close();
  }
});

/** The messages that arrived during the last commit. */
function* waitingMessages(): Generator<WriterMessage> {
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
    yield next.message;
  }
}

/** Commits the tasks and all updates that there are, and those that arrive meanwhile after that. */
function commitAll(tasks: readonly Task[]): void {
  const updates = queue.take();
  if (updates.length > 0 || tasks.length > 0) {
    port.postMessage(commit(updates, tasks));
  }
  if (!queue.sleep()) {
    // Messages may wait as well.
    setImmediate(commitAll, []);
  }
}

/** Commits a group with one sync. When that fails, nothing of it has been done. */
function commit(updates: BigInt64Array, tasks: readonly Task[]): GroupOutcome {
  try {
    file.assertUnmoved();
    const changed = new Set<ChangeTopic>();
    let workedAtMs = 0;
    const done = connection.atomically(() => {
      const outcomes = { ...runUpdates(updates, changed), tasks: tasks.map((task) => runTask(task, changed)) };
      for (const topic of changed) {
        countChange(connection, topic);
      }
      workedAtMs = performance.now();
      return outcomes;
    });
    const syncMs = performance.now() - workedAtMs;
    changes.addOwn(changed);
    const size = done.updates.length + tasks.filter(({ name }) => name !== "changeTokens").length;
    return { ...done, size, syncMs };
  } catch (error) {
    return { failure: toFailure(error), updateCount: updates.length / 2, taskCount: tasks.length };
  }
}

function runUpdates(
  updates: BigInt64Array,
  changed: Set<ChangeTopic>,
): Pick<CommittedTasks, "updates" | "updateFailure"> {
  const codes = new Int8Array(updates.length / 2);
  let updateFailure: Failure | undefined;
  for (let index = 0; index < codes.length; index++) {
    try {
      const status = updateQuantity(connection, updates[2 * index] as bigint, updates[2 * index + 1] as bigint);
      codes[index] = statusToCode(status);
      if (status !== undefined) {
        changed.add("stock");
      }
    } catch (error) {
      updateFailure = toOwnFailure(error);
      codes[index] = failedUpdate;
    }
  }
  return { updates: codes, updateFailure };
}

function runTask(task: Task, changed: Set<ChangeTopic>): Outcome {
  try {
    if (task.name === "changeTokens") {
      return { value: changes.tokens() };
    }
    const write = writes[task.name] as (connection: Connection, ...args: readonly unknown[]) => unknown;
    const value = write(connection, ...task.args);
    changed.add(writeTopics[task.name]);
    return { value };
  } catch (error) {
    return toOwnFailure(error);
  }
}

/** A failed statement leaves the others of its group alone, unless SQLite has rolled the whole transaction back. */
function toOwnFailure(error: unknown): Failure {
  if (!connection.inTransaction) {
    throw error;
  }
  return toFailure(error);
}

/** Between threads an error loses its code, which tells more than the message: whether a write failed, or a sync. */
function toFailure(error: unknown): Failure {
  if (isMediumFailure(error)) {
    return { error: new Error(`${error.message} (${error.code})`), isMediumFailure: true };
  }
  return {
    error: error as Error,
    isMediumFailure: error instanceof DamagedRowError || error instanceof StoreFileError,
  };
}
