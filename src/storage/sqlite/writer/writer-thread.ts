import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { ConnectionOptions } from "../connection.ts";
import { openDatabase } from "../database.ts";
import { FileIdentity } from "../store-file.ts";
import { CommandQueue, type QueuedCommand } from "./command-queue.ts";
import { GroupWriter } from "./group-writer.ts";
import { toFailure } from "./outcome.ts";
import { type GroupOutcome, isOfCaller, type Task } from "./writes.ts";

/** What the thread is started with. */
export interface WriterThreadData {
  readonly path: string;
  readonly options: ConnectionOptions;
  /** See `WriterOptions`. */
  readonly datesWrites: boolean;
  /** The memory of the queue that commands come by. */
  readonly commands: SharedArrayBuffer;
}

/** What the thread is told: to look at the queue of commands, to do another task, or to end. */
export type WriterMessage = "wake" | Task | "close";

const { path, options, datesWrites, commands: memory } = workerData as WriterThreadData;
const connection = openDatabase(path, options);
const groups = new GroupWriter(connection, new FileIdentity(path), { clock: datesWrites ? Date.now : undefined });
const queue = new CommandQueue(memory);
const port = parentPort as MessagePort;

/** After this time without writes of callers, the thread applies the changes that its groups have left unapplied. */
const idleMs = 1_000;

const idleTimer = setTimeout(applyWhileIdle, idleMs);
let nextStep: NodeJS.Immediate | undefined;

setTimeout(collectGarbage, idleMs).unref();

port.on("message", (first: WriterMessage) => {
  const messages = [first, ...waitingMessages()];
  commitAll(messages.filter((message) => typeof message === "object"));
  if (messages.includes("close")) {
    close();
  }
});

/** Frees what the start of the thread has used, some 7 MB. bin/petstore passes --expose-gc, which defines `gc`. */
function collectGarbage(): void {
  void globalThis.gc?.({ type: "major", execution: "async", flavor: "last-resort" });
}

/** The messages that arrived during the last commit. */
function* waitingMessages(): Generator<WriterMessage> {
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
    yield next.message;
  }
}

function close(): void {
  clearTimeout(idleTimer);
  clearImmediate(nextStep);
  groups.applyRest();
  connection.close();
  port.close();
}

/** Commits the tasks and all waiting commands in one group. Commands that arrive meanwhile are in the next group. */
function commitAll(tasks: readonly Task[]): void {
  const commands = queue.take();
  if (commands.length > 0 || tasks.length > 0) {
    port.postMessage(commit(commands, tasks));
  }
  if (commands.length > 0 || tasks.some(isOfCaller)) {
    clearImmediate(nextStep);
    idleTimer.refresh();
  }
  if (!queue.sleep()) {
    // Messages may wait, too, so the event loop takes its turn first.
    setImmediate(commitAll, []);
  }
}

/**
 * One step in each turn of the event loop, until nothing is left. A write of a caller ends it. Where the disk fails, or
 * another program locks the store, it begins again later.
 */
function applyWhileIdle(): void {
  try {
    nextStep = groups.applyStep() ? setImmediate(applyWhileIdle) : undefined;
  } catch {
    nextStep = undefined;
    idleTimer.refresh();
  }
}

function commit(commands: readonly QueuedCommand[], tasks: readonly Task[]): GroupOutcome {
  try {
    const { answers, message } = groups.commit(commands, tasks);
    queue.answer(answers);
    return message;
  } catch (error) {
    return { failure: toFailure(error), commandCount: commands.length, taskCount: tasks.length };
  }
}
