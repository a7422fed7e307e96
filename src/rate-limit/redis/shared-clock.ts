/** Valkey's clock, as a server knows it from the last answer: while Valkey is away, windows and bans go on by it. */
export class SharedClock {
  readonly #ownClock: () => number;
  #aheadMs = 0;

  /** `ownClock` is in milliseconds since the Unix epoch, and so is the shared one. */
  constructor(ownClock: () => number) {
    this.#ownClock = ownClock;
  }

  readonly now = (): number => Math.round(this.#ownClock() + this.#aheadMs);

  /** Is told what Valkey's clock shows. */
  learn(nowMs: number): void {
    this.#aheadMs = nowMs - this.#ownClock();
  }
}
