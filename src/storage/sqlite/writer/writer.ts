import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { storeUnavailable } from "../../../domain/errors.ts";
import { type StockCommand, type StockEntry, stockRefusalError } from "../../../domain/stock.ts";
import type {
  BatchOutcome,
  ChangeTokens,
  CommittedChanges,
  CommittedGroup,
  WriteContext,
  Written,
} from "../../../domain/store.ts";
import { runInTurns } from "../../../scheduling/turn-batcher.ts";
import type { ConnectionOptions } from "../connection.ts";
import { CommandQueue, outcomeFromAnswer, queueCapacity } from "./command-queue.ts";
import { failureToError, resultOf, type WriteOutcome } from "./outcome.ts";
import type { WriterMessage, WriterThreadData } from "./writer-thread.ts";
import type {
  CommittedWrites,
  FailedGroup,
  GroupOutcome,
  OtherOutcomes,
  StoreWriter,
  Task,
  WriteArgs,
  Writes,
} from "./writes.ts";

/** A caller that waits for a command or a task. */
interface Waiter<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

interface CommandWaiter extends Waiter<Written<StockEntry>> {
  readonly petId: bigint;
}

/** A command that the thread has answered. */
interface AnsweredCommand {
  readonly waiter: CommandWaiter;
  readonly outcome: BatchOutcome | WriteOutcome;
}

/** How a writer writes. */
export interface WriterOptions extends ConnectionOptions {
  /**
   * Whether writes that have waited happen when they are written, by the machine's clock. Otherwise each happens at the
   * time that it names.
   */
  readonly datesWrites?: boolean | undefined;
  /** Hears of each group that has been committed. */
  readonly committed?: ((group: CommittedGroup) => void) | undefined;
  /**
   * Hears that the thread has exited by itself, or has failed after its first answer: a bug, since no failure of the
   * medium ends it. A thread that cannot open the store only fails those who wait.
   */
  readonly ended?: ((error: Error) => void) | undefined;
}

/**
 * The one writer of a store, on a thread of its own, so that a slow disk delays writers alone. The writes that arrive
 * during a commit are committed together after it, with one sync.
 *
 * The first write starts the thread. An idle thread keeps no process alive.
 */
export class Writer implements StoreWriter {
  readonly #path: string;
  readonly #options: ConnectionOptions;
  readonly #datesWrites: boolean;
  readonly #committed: WriterOptions["committed"];
  readonly #ended: WriterOptions["ended"];
  #thread: Worker | undefined;
  #queue = new CommandQueue();
  /** The waiting callers, in the order in which the thread answers them. */
  #commands: CommandWaiter[] = [];
  #tasks: Waiter<unknown>[] = [];
  #willWake = false;
  readonly #listeners: ((changes: CommittedChanges) => void)[] = [];

  constructor(path: string, { committed, ended, datesWrites = false, ...options }: WriterOptions) {
    this.#path = path;
    this.#options = options;
    this.#datesWrites = datesWrites;
    this.#committed = committed;
    this.#ended = ended;
  }

  onChanges(listener: (changes: CommittedChanges) => void): void {
    this.#listeners.push(listener);
  }

  changeStock(command: StockCommand, context: WriteContext): Promise<Written<StockEntry>> {
    if (!this.#queue.put(command, context)) {
      return this.#changeAside(command, context);
    }
    const { promise, resolve, reject } = Promise.withResolvers<Written<StockEntry>>();
    this.#commands.push({ petId: command.petId, resolve, reject });
    if (!this.#willWake) {
      // Commands of the same turn share the first group.
      this.#willWake = true;
      process.nextTick(this.#wake);
    }
    return promise;
  }

  /** A command that finds no room in the queue is sent as a message. Long texts fill the queue before many commands do. */
  async #changeAside(command: StockCommand, context: WriteContext): Promise<Written<StockEntry>> {
    if (this.#commands.length + this.#tasks.length >= queueCapacity) {
      throw storeUnavailable(new Error("too many commands wait for the disk"));
    }
    return await this.run("changeStockOrThrow", command, context);
  }

  run<Name extends keyof Writes>(name: Name, ...args: WriteArgs<Name>): Promise<ReturnType<Writes[Name]>> {
    return this.#do({ name, args });
  }

  changeTokens(): Promise<ChangeTokens> {
    return this.#do({ name: "changeTokens" });
  }

  async close(): Promise<void> {
    // Others may still write meanwhile.
    while (this.#isBusy) {
      // The thread does this task after all earlier ones.
      await Promise.allSettled([this.changeTokens()]);
    }
    const thread = this.#thread;
    if (thread !== undefined) {
      this.#send("close");
      this.#thread = undefined;
      this.#queue = new CommandQueue();
      await new Promise((resolve) => thread.once("exit", resolve));
    }
  }

  #do<T>(task: Task): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#tasks.push({ resolve: resolve as (value: unknown) => void, reject });
      this.#send(task);
    });
  }

  get #isBusy(): boolean {
    return this.#commands.length > 0 || this.#tasks.length > 0;
  }

  readonly #wake = (): void => {
    this.#willWake = false;
    if (!this.#isBusy) {
      return;
    }
    if (this.#thread === undefined || this.#queue.mustWake()) {
      this.#send("wake");
    } else {
      this.#thread.ref();
    }
  };

  #send(message: WriterMessage): void {
    try {
      this.#thread ??= this.#start();
    } catch (error) {
      // The system may allow no more threads.
      this.#startAnew(error);
      return;
    }
    this.#thread.ref();
    this.#thread.postMessage(message);
  }

  #start(): Worker {
    // TypeScript in a checkout, JavaScript in the package.
    const file = new URL(`./writer-thread${extname(import.meta.url)}`, import.meta.url);
    const workerData: WriterThreadData = {
      path: this.#path,
      options: this.#options,
      datesWrites: this.#datesWrites,
      commands: this.#queue.memory,
    };
    // Without the process's own flags: with `--input-type` the thread would not start.
    const thread = new Worker(file, { workerData, execArgv: [] });
    let hasAnswered = false;
    thread.on("message", (outcome: GroupOutcome) => {
      // The last message of a thread that has failed may arrive after its error, when others wait for another thread.
      if (this.#thread === thread) {
        hasAnswered = true;
        if ("failure" in outcome) {
          this.#fail(outcome);
        } else {
          this.#answer(outcome);
        }
        if (!this.#isBusy) {
          thread.unref();
        }
      }
    });
    // A thread that cannot open the store fails before its first answer. The next write tries again.
    thread.on("error", (error: Error) => this.#noteEnd(thread, error, hasAnswered));
    thread.on("exit", (code) => {
      this.#noteEnd(thread, new Error(`the writing thread has ended with code ${code}`), true);
    });
    return thread;
  }

  #fail({ failure, commandCount, taskCount }: FailedGroup): void {
    const commands = this.#commands.splice(0, commandCount);
    for (const _ of commands) {
      this.#queue.skipAnswer();
    }
    failAll([...commands, ...this.#tasks.splice(0, taskCount)], failureToError(failure));
  }

  /** Tells the listeners of the changes, and then the callers of their outcomes. */
  #answer(group: CommittedWrites): void {
    const { commandCount, lineage, others = noOthers, revision, syncMs } = group;
    const commands = this.#commands.splice(0, commandCount);
    const tasks = this.#tasks.splice(0, others.tasks.length);
    const answered: AnsweredCommand[] = [];
    const changedPetIds: bigint[] = [];
    let next = 0;
    for (const waiter of commands) {
      const outcome = outcomeFromAnswer(waiter.petId, lineage, this.#queue.readAnswer());
      answered.push({ waiter, outcome: outcome ?? (others.commandOutcomes[next++] as WriteOutcome) });
      if (outcome?.outcome === "done") {
        changedPetIds.push(waiter.petId);
      }
    }
    changedPetIds.push(...others.petIds);
    if (group.size > 0) {
      this.#committed?.(group);
    }
    if (changedPetIds.length > 0) {
      for (const listener of this.#listeners) {
        listener({ lineage, revision: BigInt(revision), petIds: changedPetIds });
      }
    }
    // Many callers wait for a slow disk. To settle all of them at once, and take their next requests, would delay reads.
    if (syncMs < slowSyncMs) {
      answered.forEach(settleCommand);
    } else {
      runInTurns(answered, Math.ceil(commandCount / spreadTurns), settleCommand);
    }
    tasks.forEach((waiter, index) => {
      settleTask(waiter, others.tasks[index] as WriteOutcome);
    });
  }

  #noteEnd(thread: Worker, error: Error, isBug: boolean): void {
    // A thread that was closed, or has failed, has been replaced already.
    if (this.#thread !== thread) {
      return;
    }
    this.#startAnew(error);
    if (isBug) {
      this.#ended?.(error);
    }
  }

  /**
   * Fails all who wait. Nobody knows which of their writes a dead thread has done. The next write starts a new thread.
   */
  #startAnew(error: unknown): void {
    const waiters = [...this.#commands, ...this.#tasks];
    this.#commands = [];
    this.#tasks = [];
    this.#queue = new CommandQueue();
    this.#thread = undefined;
    failAll(waiters, storeUnavailable(error));
  }
}

const noOthers: OtherOutcomes = { commandOutcomes: [], tasks: [], petIds: new BigInt64Array() };

/** A sync is slow from this many milliseconds on. */
const slowSyncMs = 10;

/** The callers that have waited for a slow sync are answered over this many turns of the event loop at most. */
const spreadTurns = 64;

function settleCommand({ waiter, outcome }: AnsweredCommand): void {
  if (!("outcome" in outcome)) {
    settleTask(waiter, outcome);
  } else if (outcome.outcome === "done") {
    waiter.resolve({ value: outcome.entry, isReplayed: false });
  } else {
    waiter.reject(stockRefusalError(waiter.petId, outcome));
  }
}

function settleTask<T>({ resolve, reject }: Waiter<T>, outcome: WriteOutcome): void {
  try {
    resolve(resultOf<T>(outcome));
  } catch (error) {
    reject(error);
  }
}

function failAll(waiters: readonly Pick<Waiter<unknown>, "reject">[], reason: Error): void {
  for (const { reject } of waiters) {
    reject(reason);
  }
}
