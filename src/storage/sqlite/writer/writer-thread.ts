import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { DomainError } from "../../../domain/errors.ts";
import { DamagedRowError } from "../column-values.ts";
import { type Connection, type ConnectionOptions, isMediumFailure } from "../connection.ts";
import { openDatabase } from "../database.ts";
import { FileIdentity, StoreFileError } from "../files/store-path.ts";
import { changedPetsSince, headOf, lineageOf } from "../stock.ts";
import { changeStock } from "../stock-commands.ts";
import { type ChangeCounter, ChangeTracker, countChange } from "./change-counters.ts";
import { answerDone, answerRefused, toldAside } from "./command-answer.ts";
import { CommandQueue, type QueuedAnswer, type QueuedCommand } from "./command-queue.ts";
import {
  type Failure,
  type GroupOutcome,
  type Outcome,
  type Refusal,
  type Task,
  writeCounters,
  writes,
} from "./writes.ts";

/** What the thread is started with. */
export interface WriterThreadData {
  readonly path: string;
  readonly options: ConnectionOptions;
  /** The memory of the queue that commands come by. */
  readonly commands: SharedArrayBuffer;
}

/** What the thread is told: to look at the queue of commands, to do another task, or to end. */
export type WriterMessage = "wake" | Task | "close";

const { path, options, commands: memory } = workerData as WriterThreadData;
const connection = openDatabase(path, options);
const file = new FileIdentity(path);
const changes = new ChangeTracker(connection);
const queue = new CommandQueue(memory);
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

/** Commits the tasks and all commands that there are, and those that arrive meanwhile after that. */
function commitAll(tasks: readonly Task[]): void {
  const commands = queue.take();
  if (commands.length > 0 || tasks.length > 0) {
    port.postMessage(commit(commands, tasks));
  }
  if (!queue.sleep()) {
    // Messages may wait as well.
    setImmediate(commitAll, []);
  }
}

/** Commits a group with one sync. When that fails, nothing of it has been done. */
function commit(commands: readonly QueuedCommand[], tasks: readonly Task[]): GroupOutcome {
  try {
    file.assertUnmoved();
    const counters = new Set<ChangeCounter>();
    let workedAtMs = 0;
    const { answers, ...done } = connection.atomically(() => {
      const outcome = { ...runCommands(commands, counters), ...runTasks(tasks, counters) };
      for (const counter of counters) {
        countChange(connection, counter);
      }
      workedAtMs = performance.now();
      return outcome;
    });
    const syncMs = performance.now() - workedAtMs;
    changes.addOwn(counters, answers.filter(({ revision }) => revision > 0).length + done.petIds.length);
    queue.answer(answers);
    const size = commands.length + tasks.filter(({ name }) => name !== "changeTokens").length;
    return { ...done, commandCount: commands.length, size, syncMs };
  } catch (error) {
    return { failure: toFailure(error), commandCount: commands.length, taskCount: tasks.length };
  }
}

function runCommands(commands: readonly QueuedCommand[], counters: Set<ChangeCounter>) {
  const asides: Outcome[] = [];
  const answers = commands.map((queued) => {
    const answer = runCommand(queued, counters);
    if ("code" in answer) {
      return answer;
    }
    asides.push(answer);
    return toldAside;
  });
  return { answers, asides };
}

function runCommand({ command, context }: QueuedCommand, counters: Set<ChangeCounter>): QueuedAnswer | Outcome {
  try {
    const result = connection.atomically(() => changeStock(connection, command, context));
    switch (result.outcome) {
      case "done":
        return answerDone(result.stock);
      case "replayed":
        return { value: { value: result.entry, isReplayed: true } };
      default:
        // It may have noted which holds are over.
        counters.add("others");
        return answerRefused(result);
    }
  } catch (error) {
    return toOwnFailure(error);
  }
}

function runTasks(tasks: readonly Task[], counters: Set<ChangeCounter>) {
  const head = headOf(connection);
  const outcomes = tasks.map((task) => runTask(task, counters));
  const petIds = changedPetsSince(connection, head);
  return { tasks: outcomes, petIds, revision: head + BigInt(petIds.length), lineage: lineageOf(connection) };
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
function toOwnFailure(error: unknown): Failure | Refusal {
  if (error instanceof DomainError) {
    return { refusal: { code: error.code, message: error.message } };
  }
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
