import { setImmediate } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Timing } from "../../client/src/timing.ts";

/** How many turns of the event loop without a new sleep make it idle. */
const idleTurns = 10;

interface Sleeper {
  readonly at: number;
  readonly delayMs: number;
  readonly wake: () => void;
}

/** A clock that goes on to the end of the next sleep whenever nothing else happens, until it stops or the test is over. */
export class VirtualTiming implements Timing {
  /** How long was slept, each time that nobody interrupted it, in milliseconds. */
  readonly sleptMs: number[] = [];
  readonly #stopsAt: number;
  readonly #sleepers = new Set<Sleeper>();
  #elapsed = 0;
  #behindMs = 0;
  #turns = 0;
  #isOver = false;

  constructor({ stopsAt = Number.POSITIVE_INFINITY }: { readonly stopsAt?: number } = {}) {
    this.#stopsAt = stopsAt;
    onTestFinished(() => {
      this.#isOver = true;
    });
    void this.#run();
  }

  readonly now = () => this.#elapsed - this.#behindMs;
  readonly elapsed = () => this.#elapsed;
  readonly random = () => 0.5;

  readonly sleep = async (delayMs: number, signal = new AbortController().signal): Promise<void> => {
    signal.throwIfAborted();
    this.#turns = 0;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper = { at: this.#elapsed + delayMs, delayMs, wake: resolve };
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    this.#sleepers.add(sleeper);
    try {
      await promise;
    } finally {
      this.#sleepers.delete(sleeper);
      signal.removeEventListener("abort", abort);
    }
  };

  /** Sets the clock back. Who sleeps does so for as long as before. */
  setBack(ms: number): void {
    this.#behindMs += ms;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      await setImmediate();
      this.#turns += 1;
      if (this.#turns > idleTurns) {
        this.#wakeNext();
      }
    }
  }

  #wakeNext(): void {
    const [next] = [...this.#sleepers].sort((a, b) => a.at - b.at);
    if (next !== undefined && next.at <= this.#stopsAt) {
      this.#turns = 0;
      this.#elapsed = next.at;
      this.#sleepers.delete(next);
      this.sleptMs.push(next.delayMs);
      next.wake();
    }
  }
}
