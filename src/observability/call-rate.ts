/** How often the number of calls is sampled, in milliseconds. */
const sampleMs = 5_000;

/** How many samples are kept: those of a minute, and the one at its start. */
const sampleCount = 60_000 / sampleMs + 1;

interface Sample {
  readonly atMs: number;
  readonly calls: number;
}

/** The calls per second over the last minute, or since the start. */
export class CallRate {
  readonly #calls: () => number;
  readonly #clock: () => number;
  readonly #samples: Sample[] = [];
  readonly #timer: NodeJS.Timeout;

  /** `clock` is in milliseconds. */
  constructor(calls: () => number, clock: () => number) {
    this.#calls = calls;
    this.#clock = clock;
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), sampleMs).unref();
  }

  get perSecond(): number {
    const first = this.#samples[0] as Sample;
    const seconds = Math.max(1, (this.#clock() - first.atMs) / 1_000);
    return (this.#calls() - first.calls) / seconds;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    this.#samples.push({ atMs: this.#clock(), calls: this.#calls() });
    if (this.#samples.length > sampleCount) {
      this.#samples.shift();
    }
  }
}
