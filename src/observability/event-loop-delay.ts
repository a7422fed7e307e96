import { monitorEventLoopDelay } from "node:perf_hooks";

/** How often it is measured, in milliseconds. An idle process wakes 50 times a second for it. */
const resolutionMs = 20;

/** How late the event loop ran its timers, in seconds. */
export interface DelaySummary {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Measures how late the event loop runs its timers. */
export class EventLoopDelay {
  readonly #histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  #summary: DelaySummary | undefined;

  constructor() {
    this.#histogram.enable();
  }

  /** The delays since this was last read. Reads within one turn of the event loop get the same. */
  get sinceLast(): DelaySummary {
    this.#summary ??= this.#take();
    return this.#summary;
  }

  #take(): DelaySummary {
    const histogram = this.#histogram;
    const summary = {
      p50: delayOf(histogram.percentile(50)),
      p90: delayOf(histogram.percentile(90)),
      p99: delayOf(histogram.percentile(99)),
      max: delayOf(histogram.max),
    };
    histogram.reset();
    setImmediate(() => {
      this.#summary = undefined;
    });
    return summary;
  }
}

/** Node measures the time between two runs of a timer, in nanoseconds. Without a delay that is its interval. */
function delayOf(intervalNs: number): number {
  return Math.max(0, intervalNs / 1e9 - resolutionMs / 1e3);
}
