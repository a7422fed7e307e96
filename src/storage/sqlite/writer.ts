import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { storeUnavailable } from "../../domain/errors.ts";
import type { PetStatus } from "../../domain/pet.ts";
import type { ConnectionOptions } from "./connection.ts";
import type { GroupOutcome } from "./group.ts";
import { failureToError, Jobs } from "./jobs.ts";
import type { WriterThreadData } from "./writer-thread.ts";
import type { Failure, WriteArgs, Writes } from "./writes.ts";

/**
 * How many groups are sent to the thread at a time: while it commits one, the next is at hand, so that it need not wait
 * for this thread's turn.
 */
const maxRunning = 2;

/**
 * The one writer of a store, on a thread of its own, so that a slow disk delays nobody but the writers. While it
 * commits, the writes that arrive are gathered, and then committed together: one sync for all of them.
 *
 * The thread is started by the first write, and keeps no process alive by itself.
 */
export class Writer {
  readonly #data: WriterThreadData;
  #thread: Worker | undefined;
  #waiting = new Jobs();
  /** The groups that the thread has been sent, in their order. */
  #running: Jobs[] = [];
  #isScheduled = false;

  constructor(path: string, options: ConnectionOptions) {
    this.#data = { path, options };
  }

  /**
   * Sets the stock count of a pet, and resolves to the pet's status when that is on disk; undefined when there is no
   * such pet. Rejects with `UNAVAILABLE`.
   */
  update(petId: bigint, quantity: bigint): Promise<PetStatus | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.updates.push({ petId, quantity, resolve, reject });
      this.#schedule();
    });
  }

  /** Does any other write, and resolves when it is on disk. Rejects with `UNAVAILABLE`. */
  run<Name extends keyof Writes>(name: Name, ...args: WriteArgs<Name>): Promise<ReturnType<Writes[Name]>> {
    return new Promise((resolve, reject) => {
      this.#waiting.writes.push({ write: { name, args }, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Ends the thread once all that was asked for has been done. */
  async close(): Promise<void> {
    if (this.#running.length > 0 || !this.#waiting.isEmpty) {
      // This one is done after all that were asked for before it.
      await Promise.allSettled([this.run("foreignRevision")]);
    }
    if (this.#thread !== undefined) {
      this.#thread.ref();
      this.#thread.postMessage("close");
      await once(this.#thread, "exit");
    }
  }

  /** Requests that arrive in the same turn of the event loop are to share the first group. */
  #schedule(): void {
    if (!this.#isScheduled && this.#running.length < maxRunning) {
      this.#isScheduled = true;
      setImmediate(() => {
        this.#isScheduled = false;
        this.#runNext();
      });
    }
  }

  #runNext(): void {
    if (this.#running.length === maxRunning || this.#waiting.isEmpty) {
      return;
    }
    const group = this.#waiting;
    this.#waiting = new Jobs();
    this.#running.push(group);
    this.#thread ??= this.#start();
    this.#thread.ref();
    this.#thread.postMessage(group.toGroup());
  }

  #start(): Worker {
    // TypeScript in a checkout, JavaScript in the package.
    const file = new URL(`./writer-thread${extname(import.meta.url)}`, import.meta.url);
    // The process's own flags are not for the thread: with `--input-type` among them it would not start.
    const thread = new Worker(file, { workerData: this.#data, execArgv: [] });
    thread.on("message", (outcome: GroupOutcome | Failure) => this.#settle(outcome));
    thread.on("error", (error: Error) => this.#replaceThread(error));
    return thread;
  }

  #settle(outcome: GroupOutcome | Failure): void {
    const jobs = this.#running.shift();
    // The next group first: it is to be at hand while the answers to this one go out.
    this.#runNext();
    if (this.#running.length === 0) {
      this.#thread?.unref();
    }
    if ("error" in outcome) {
      jobs?.fail(failureToError(outcome));
    } else {
      jobs?.settle(outcome);
    }
  }

  /** A thread that has died is replaced by the next write. Of what it was sent, nobody knows what has been done. */
  #replaceThread(error: Error): void {
    const groups = this.#running;
    this.#running = [];
    this.#thread = undefined;
    this.#runNext();
    for (const jobs of groups) {
      jobs.fail(storeUnavailable(error));
    }
  }
}
