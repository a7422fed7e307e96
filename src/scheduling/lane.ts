/** What a lane lets in. The unit of weights is the user's own. */
export interface LaneOptions {
  /** Work of this weight is under way at once; a single piece may weigh more. */
  readonly width: number;
  /** Work of no more than this weight waits. */
  readonly most: number;
  /** The reason why work is refused that finds the lane full. */
  readonly refusal: () => Error;
}

/** Lets work in, in its order, as long as what is under way weighs no more than the lane is wide. */
export class Lane {
  readonly #options: LaneOptions;
  readonly #waiting: { readonly weight: number; readonly start: () => void }[] = [];
  #waitingWeight = 0;
  #runningWeight = 0;
  #ended: (() => void)[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Does a piece of work when its turn has come. Rejects as the work does, and where too much waits. */
  async run<T>(weight: number, work: () => Promise<T>): Promise<T> {
    await this.#enter(weight);
    try {
      return await work();
    } finally {
      this.#runningWeight -= weight;
      this.#letIn();
    }
  }

  /** Resolves when no work is under way, and none waits. */
  async idle(): Promise<void> {
    if (this.#runningWeight > 0) {
      await new Promise<void>((resolve) => this.#ended.push(resolve));
    }
  }

  #enter(weight: number): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#isOpenTo(weight)) {
      this.#runningWeight += weight;
      return;
    }
    if (this.#waitingWeight + weight > this.#options.most) {
      throw this.#options.refusal();
    }
    this.#waitingWeight += weight;
    return new Promise((start) => this.#waiting.push({ weight, start }));
  }

  #letIn(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#isOpenTo(next.weight); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#waitingWeight -= next.weight;
      this.#runningWeight += next.weight;
      next.start();
    }
    if (this.#runningWeight === 0) {
      const ended = this.#ended;
      this.#ended = [];
      for (const resolve of ended) {
        resolve();
      }
    }
  }

  #isOpenTo(weight: number): boolean {
    return this.#runningWeight === 0 || this.#runningWeight + weight <= this.#options.width;
  }
}
