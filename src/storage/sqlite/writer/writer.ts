import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { DomainError, storeUnavailable } from "../../../domain/errors.ts";
import type { CommittedChanges } from "../../../domain/stock-store.ts";
import type { ChangeTokens } from "../../../domain/store.ts";
import type { CommittedGroup } from "../../../domain/store-maintenance.ts";
import type { ConnectionOptions } from "../connection.ts";
import { type GroupOutcome, UpdateQueue } from "./update-queue.ts";
import type { WriterMessage, WriterThreadData } from "./writer-thread.ts";
import type { Failure, Outcome, Task, WriteArgs, Writes } from "./writes.ts";

/** A caller that waits for an update or a task. */
interface Waiter<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** How a writer writes. */
export interface WriterOptions extends ConnectionOptions {
  /** Hears of each group that has been committed. */
  readonly committed?: ((group: CommittedGroup) => void) | undefined;
  /** Hears that the thread has ended by itself: a bug, since no failure of the medium ends it. */
  readonly ended?: ((error: Error) => void) | undefined;
}

/**
 * The one writer of a store, on a thread of its own, so that a slow disk delays writers alone. The writes that arrive
 * during a commit are committed together after it, with one sync.
 *
 * The first write starts the thread. An idle thread keeps no process alive.
 */
export class Writer {
  readonly #path: string;
  readonly #options: ConnectionOptions;
  readonly #committed: WriterOptions["committed"];
  readonly #ended: WriterOptions["ended"];
  #thread: Worker | undefined;
  #queue = new UpdateQueue();
  /** The waiting callers, in the order in which the thread answers them. */
  #tasks: Waiter<unknown>[] = [];
  readonly #listeners: ((changes: CommittedChanges) => void)[] = [];

  constructor(path: string, { committed, ended, ...options }: WriterOptions) {
    this.#path = path;
    this.#options = options;
    this.#committed = committed;
    this.#ended = ended;
  }

  onChanges(listener: (changes: CommittedChanges) => void): void {
    this.#listeners.push(listener);
  }

  /** Does any other write, and resolves when it is on disk. Rejects with `UNAVAILABLE`. */
  run<Name extends keyof Writes>(name: Name, ...args: WriteArgs<Name>): Promise<ReturnType<Writes[Name]>> {
    return this.#do({ name, args });
  }

  /** Reads the change tokens behind all writes that were asked for before. Rejects with `UNAVAILABLE`. */
  changeTokens(): Promise<ChangeTokens> {
    return this.#do({ name: "changeTokens" });
  }

  /** Ends the thread once all that was asked for has been done. */
  async close(): Promise<void> {
    if (this.#isBusy) {
      // This is done after all that was asked for before.
      await Promise.allSettled([this.changeTokens()]);
    }
    const thread = this.#thread;
    if (thread !== undefined) {
      this.#send("close");
      this.#thread = undefined;
      await once(thread, "exit");
    }
  }

  #do<T>(task: Task): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#tasks.push({ resolve: resolve as (value: unknown) => void, reject });
      this.#send(task);
    });
  }

  get #isBusy(): boolean {
    return this.#tasks.length > 0;
  }

  #send(message: WriterMessage): void {
    this.#thread ??= this.#start();
    this.#thread.ref();
    this.#thread.postMessage(message);
  }

  #start(): Worker {
    // TypeScript in a checkout, JavaScript in the package.
    const file = new URL(`./writer-thread${extname(import.meta.url)}`, import.meta.url);
    const workerData: WriterThreadData = { path: this.#path, options: this.#options, updates: this.#queue.memory };
    // Without the process's own flags: with `--input-type` the thread would not start.
    const thread = new Worker(file, { workerData, execArgv: [] });
    thread.on("message", (outcome: GroupOutcome) => this.#settle(outcome));
    thread.on("error", (error: Error) => this.#replaceThread(error));
    thread.on("exit", (code) => this.#noteExit(thread, code));
    return thread;
  }

  #settle(outcome: GroupOutcome): void {
    if ("failure" in outcome) {
      failAll(this.#tasks.splice(0, outcome.taskCount), failureToError(outcome.failure));
    } else {
      if (outcome.size > 0) {
        this.#committed?.(outcome);
      }
      if (outcome.changedPets.length > 0) {
        for (const listener of this.#listeners) {
          listener({ revision: outcome.revision, petIds: outcome.changedPets });
        }
      }
      const tasks = this.#tasks.splice(0, outcome.tasks.length);
      tasks.forEach((waiter, index) => {
        settleTask(waiter, outcome.tasks[index] as Outcome);
      });
    }
    if (!this.#isBusy) {
      this.#thread?.unref();
    }
  }

  #noteExit(thread: Worker, code: number): void {
    // A thread that was closed, or has failed, has been replaced already.
    if (this.#thread === thread) {
      const error = new Error(`the writing thread has ended with code ${code}`);
      this.#replaceThread(error);
      this.#ended?.(error);
    }
  }

  /** The next write starts a new thread. Nobody knows which writes a dead thread has done. */
  #replaceThread(error: Error): void {
    const waiters = this.#tasks;
    this.#tasks = [];
    this.#queue = new UpdateQueue();
    this.#thread = undefined;
    failAll(waiters, storeUnavailable(error));
  }
}

function settleTask({ resolve, reject }: Waiter<unknown>, outcome: Outcome): void {
  if ("value" in outcome) {
    resolve(outcome.value);
  } else if ("refusal" in outcome) {
    reject(new DomainError(outcome.refusal.code, outcome.refusal.message));
  } else {
    reject(failureToError(outcome));
  }
}

function failAll(waiters: readonly Pick<Waiter<unknown>, "reject">[], reason: Error): void {
  for (const { reject } of waiters) {
    reject(reason);
  }
}

/** The error that a failure on the writing thread means. */
function failureToError({ error, isMediumFailure }: Failure): Error {
  return isMediumFailure ? storeUnavailable(error) : error;
}
