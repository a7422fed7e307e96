import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { storeUnavailable } from "../../domain/errors.ts";
import type { ConnectionOptions } from "./connection.ts";
import type { WriterThreadData } from "./writer-thread.ts";
import type { Outcome, Write, WriteArgs, Writes } from "./writes.ts";

interface Job {
  readonly write: Write;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The one writer of a store, on a thread of its own, so that a slow disk delays nobody but the writers. While it
 * commits, the writes that arrive are gathered, and then committed together: one sync for all of them.
 *
 * The thread is started by the first write, and keeps no process alive by itself.
 */
export class Writer {
  readonly #data: WriterThreadData;
  #thread: Worker | undefined;
  #waiting: Job[] = [];
  #running: Job[] = [];

  constructor(path: string, options: ConnectionOptions) {
    this.#data = { path, options };
  }

  /** Does one write, and resolves when it is on disk. Rejects with `UNAVAILABLE`. */
  run<Name extends keyof Writes>(name: Name, ...args: WriteArgs<Name>): Promise<ReturnType<Writes[Name]>> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ write: { name, args }, resolve, reject });
    this.#runNext();
    return promise as Promise<ReturnType<Writes[Name]>>;
  }

  /** Ends the thread once all that was asked for has been done. */
  async close(): Promise<void> {
    // This one is done after all that were asked for before it.
    if (this.#running.length > 0) {
      await Promise.allSettled([this.run("foreignRevision")]);
    }
    if (this.#thread !== undefined) {
      this.#thread.ref();
      this.#thread.postMessage("close");
      await once(this.#thread, "exit");
    }
  }

  #runNext(): void {
    if (this.#running.length > 0 || this.#waiting.length === 0) {
      return;
    }
    this.#running = this.#waiting;
    this.#waiting = [];
    this.#thread ??= this.#start();
    this.#thread.ref();
    this.#thread.postMessage(this.#running.map((job) => job.write));
  }

  #start(): Worker {
    const file = new URL("./writer-thread.ts", import.meta.url);
    // The process's own flags are not for the thread: with `--input-type` among them it would not start.
    const thread = new Worker(file, { workerData: this.#data, execArgv: [] });
    thread.on("message", (outcomes: readonly Outcome[]) => this.#settle(outcomes));
    // A thread that has died is replaced by the next write.
    thread.on("error", (error: Error) => {
      this.#thread = undefined;
      this.#settle(this.#running.map(() => ({ error, isMediumFailure: true })));
    });
    return thread;
  }

  #settle(outcomes: readonly Outcome[]): void {
    const jobs = this.#running;
    this.#running = [];
    this.#thread?.unref();
    outcomes.forEach((outcome, index) => {
      settle(jobs[index], outcome);
    });
    this.#runNext();
  }
}

function settle(job: Job | undefined, outcome: Outcome): void {
  if ("value" in outcome) {
    job?.resolve(outcome.value);
  } else {
    job?.reject(outcome.isMediumFailure ? storeUnavailable(outcome.error) : outcome.error);
  }
}
