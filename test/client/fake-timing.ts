import type { Timing } from "../../client/src/timing.ts";

/** A clock that only sleep moves, and that takes no time to move; `random` is what is given. */
export class FakeTiming implements Timing {
  /** How long was slept, each time, in milliseconds. */
  readonly delaysMs: number[] = [];
  readonly #random: number;
  #now: number;

  constructor({ now = 0, random = 0.5 }: { now?: number; random?: number } = {}) {
    this.#now = now;
    this.#random = random;
  }

  readonly now = () => this.#now;
  readonly random = () => this.#random;
  readonly sleep = async (delayMs: number, signal: AbortSignal) => {
    signal.throwIfAborted();
    this.delaysMs.push(delayMs);
    this.#now += delayMs;
  };
}
