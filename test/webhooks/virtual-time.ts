import { setImmediate } from "node:timers/promises";
import type { Wait } from "../../src/webhooks/worker.ts";

interface Waiting {
  readonly atMs: number;
  readonly resolve: () => void;
}

/** A clock that jumps to the next moment at which anybody waits to go on. */
export class VirtualTime {
  #nowMs: number;
  #waiting: Waiting[] = [];
  /** How far the clock is behind the time that has passed. */
  #behindMs = 0;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  readonly clock = (): number => this.#nowMs - this.#behindMs;

  readonly wait: Wait = (ms, signal) =>
    new Promise((resolve) => {
      const waiting = { atMs: this.#nowMs + ms, resolve };
      const end = () => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        resolve();
      };
      if (signal.aborted) {
        resolve();
        return;
      }
      this.#waiting.push(waiting);
      signal.addEventListener("abort", end, { once: true });
    });

  /** Sets the clock back. Waits go on. */
  setBack(ms: number): void {
    this.#behindMs += ms;
  }

  /** Lets this much time pass. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      await this.settle();
      const next = Math.min(...this.#waiting.map(({ atMs }) => atMs));
      if (next > endMs) {
        this.#nowMs = endMs;
        return;
      }
      this.#nowMs = next;
      const due = this.#waiting.filter(({ atMs }) => atMs <= next);
      this.#waiting = this.#waiting.filter(({ atMs }) => atMs > next);
      for (const { resolve } of due) {
        resolve();
      }
    }
  }

  /** Lets everybody do what there is to do now. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 1_000; turn += 1) {
      await setImmediate();
    }
  }
}
