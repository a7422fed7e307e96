/** What the parts of a server share from its start to its end: the clock, the resources, and how it stops. */
export class ServerLife {
  #clock: () => number = Date.now;
  /** Releases what the server holds, in the reverse order of its opening. */
  readonly resources = new AsyncDisposableStack();
  readonly grace: ShutdownGrace;
  readonly #stopping = new AbortController();
  readonly #broken = new AbortController();

  constructor(shutdownGraceMs: number) {
    this.grace = new ShutdownGrace(shutdownGraceMs);
  }

  /**
   * The clock, in milliseconds since the Unix epoch. The store may replace it: parts that are opened before the store
   * must read this property each time.
   */
  get clock(): () => number {
    return this.#clock;
  }

  /** Uses another clock from now on: the one that the servers of a store share. */
  useClock(clock: () => number): void {
    this.#clock = clock;
  }

  /** Aborts when the server is told to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Aborts when the server cannot go on. */
  get broken(): AbortSignal {
    return this.#broken.signal;
  }

  /** Tells the parts to stop, and starts the grace for running calls. */
  stop(): void {
    this.grace.start();
    this.#stopping.abort();
  }

  /**
   * Has a part end as soon as the server is told to stop: such parts end at the same time. What was opened before a part
   * is released after its end.
   */
  endAtStop(end: () => Promise<void>): void {
    let ending: Promise<void> | undefined;
    const endOnce = () => {
      ending ??= end();
      return ending;
    };
    // The resources tell of a failure.
    this.stopping.addEventListener("abort", () => void endOnce().catch(() => {}));
    this.resources.defer(endOnce);
  }

  /** To be called when the server cannot go on. */
  break(): void {
    this.#broken.abort();
  }
}

/** The time in which a server has to stop. All that has to be done by then shares it. */
class ShutdownGrace {
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
