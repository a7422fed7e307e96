/** The time in which a server has to stop, which all that still has to be done shares. */
export class ShutdownGrace {
  readonly #lengthMs: number;
  #startedAtMs: number | undefined;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  start(): void {
    this.#startedAtMs = performance.now();
  }

  /** What is left of it, in milliseconds; all of it before it has started. */
  get leftMs(): number {
    const nowMs = performance.now();
    return Math.max(0, (this.#startedAtMs ?? nowMs) + this.#lengthMs - nowMs);
  }
}
