import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { DomainError } from "../../../domain/errors.ts";
import { DamagedRowError } from "../column-values.ts";
import { type Connection, type ConnectionOptions, isMediumFailure } from "../connection.ts";
import { openDatabase } from "../database.ts";
import { FileIdentity, StoreFileError } from "../files/store-path.ts";
import { changedPetsSince, headOf } from "../stock.ts";
import { type ChangeCounter, ChangeTracker, countChange } from "./change-counters.ts";
import { type GroupOutcome, UpdateQueue } from "./update-queue.ts";
import { type Failure, type Outcome, type Task, writeCounters, writes } from "./writes.ts";

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
  if (tasks.length > 0) {
    port.postMessage(commit(tasks));
  }
  if (!queue.sleep()) {
    // Messages may wait as well.
    setImmediate(commitAll, []);
  }
}

/** Commits a group with one sync. When that fails, nothing of it has been done. */
function commit(tasks: readonly Task[]): GroupOutcome {
  try {
    file.assertUnmoved();
    const counters = new Set<ChangeCounter>();
    let workedAtMs = 0;
    const done = connection.atomically(() => {
      const head = headOf(connection);
      const outcomes = tasks.map((task) => runTask(task, counters));
      for (const counter of counters) {
        countChange(connection, counter);
      }
      const changedPets = changedPetsSince(connection, head);
      workedAtMs = performance.now();
      return { tasks: outcomes, changedPets, revision: head + BigInt(changedPets.length) };
    });
    const syncMs = performance.now() - workedAtMs;
    changes.addOwn(counters, done.changedPets.length);
    const size = tasks.filter(({ name }) => name !== "changeTokens").length;
    return { ...done, size, syncMs };
  } catch (error) {
    return { failure: toFailure(error), taskCount: tasks.length };
  }
}

function runTask(task: Task, counters: Set<ChangeCounter>): Outcome {
  try {
    if (task.name === "changeTokens") {
      return { value: changes.tokens() };
    }
    const write = writes[task.name] as (connection: Connection, ...args: readonly unknown[]) => unknown;
    counters.add(writeCounters[task.name]);
    return connection.atomically(() => valueOrRefusal(() => write(connection, ...task.args)));
  } catch (error) {
    return toOwnFailure(error);
  }
}

/** What a refusal has noted, such as which holds are over, stays. */
function valueOrRefusal(write: () => unknown): Outcome {
  try {
    return { value: write() };
  } catch (error) {
    if (error instanceof DomainError) {
      return { refusal: { code: error.code, message: error.message } };
    }
    throw error;
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
