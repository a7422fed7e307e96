/** How often the number of calls is noted. */
const sampleMs = 5_000;

/** So many notes are kept: those of a minute, and where it began. */
const sampleCount = 60_000 / sampleMs + 1;

interface Sample {
  readonly atMs: number;
  readonly calls: number;
}

/** How many calls a second there were, over the last minute or since the start. */
export class CallRate {
  readonly #calls: () => number;
  readonly #clock: () => number;
  readonly #samples: Sample[] = [];
  readonly #timer: NodeJS.Timeout;

  /** `clock` is in milliseconds. */
  constructor(calls: () => number, clock: () => number) {
    this.#calls = calls;
    this.#clock = clock;
    this.#note();
    this.#timer = setInterval(() => this.#note(), sampleMs).unref();
  }

  get perSecond(): number {
    const first = this.#samples[0] as Sample;
    const seconds = Math.max(1, (this.#clock() - first.atMs) / 1_000);
    return (this.#calls() - first.calls) / seconds;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #note(): void {
    this.#samples.push({ atMs: this.#clock(), calls: this.#calls() });
    if (this.#samples.length > sampleCount) {
      this.#samples.shift();
    }
  }
}
