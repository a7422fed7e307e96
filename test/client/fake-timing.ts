import type { Timing } from "../../client/src/timing.ts";

/** Time that only sleep moves, and that takes no time to move; `random` is what is given. */
export class FakeTiming implements Timing {
  /** How long was slept, each time, in milliseconds. */
  readonly delaysMs: number[] = [];
  readonly #random: number;
  #now: number;
  #elapsed = 0;

  constructor({ now = 0, random = 0.5 }: { now?: number; random?: number } = {}) {
    this.#now = now;
    this.#random = random;
  }

  readonly now = () => this.#now;
  readonly elapsed = () => this.#elapsed;
  readonly random = () => this.#random;
  readonly sleep = async (delayMs: number, signal: AbortSignal) => {
    signal.throwIfAborted();
    this.delaysMs.push(delayMs);
    this.#now += delayMs;
    this.#elapsed += delayMs;
  };

  /** Sets the clock forward, or back for a negative number. */
  setClock(ms: number): void {
    this.#now += ms;
  }
}
