/** The limits of a lane. Its user chooses the unit of weights. */
interface LaneOptions {
  /** The total weight of the work that runs at the same time. */
  readonly width: number;
  /** Bounds the work that waits; undefined for no bound. */
  readonly bound?: {
    /** The largest total weight of the work that waits. */
    readonly maxWaiting: number;
    /** Makes the error for work that finds the lane full. */
    readonly refusal: () => Error;
  };
}

/**
 * Runs work in the order of its arrival. The work that runs at the same time weighs no more than the lane is wide. Work
 * that is heavier than that runs alone.
 */
export class Lane {
  readonly #options: LaneOptions;
  readonly #waiting: { readonly weight: number; readonly start: () => void }[] = [];
  #waitingWeight = 0;
  #runningWeight = 0;
  #idleWaiters: (() => void)[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /**
   * Runs a piece of work when its turn has come. Rejects as the work does, or with the bound's `refusal` if too much work
   * waits.
   */
  async run<T>(weight: number, work: () => Promise<T>): Promise<T> {
    await this.#enter(weight);
    try {
      return await work();
    } finally {
      this.#runningWeight -= weight;
      this.#startWaiting();
    }
  }

  /** Resolves when no work runs, and none waits. */
  async idle(): Promise<void> {
    if (this.#runningWeight > 0) {
      await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    }
  }

  #enter(weight: number): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#hasRoomFor(weight)) {
      this.#runningWeight += weight;
      return;
    }
    const { bound } = this.#options;
    if (bound !== undefined && this.#waitingWeight + weight > bound.maxWaiting) {
      throw bound.refusal();
    }
    this.#waitingWeight += weight;
    return new Promise((start) => this.#waiting.push({ weight, start }));
  }

  #startWaiting(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#hasRoomFor(next.weight); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#waitingWeight -= next.weight;
      this.#runningWeight += next.weight;
      next.start();
    }
    if (this.#runningWeight === 0) {
      const ended = this.#idleWaiters;
      this.#idleWaiters = [];
      for (const resolve of ended) {
        resolve();
      }
    }
  }

  #hasRoomFor(weight: number): boolean {
    return this.#runningWeight === 0 || this.#runningWeight + weight <= this.#options.width;
  }
}
