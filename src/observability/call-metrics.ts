import type { DescService } from "@bufbuild/protobuf";
import { rpcName } from "../rpc/endpoint.ts";
import type { CallListener } from "./call-observer.ts";
import { addCounter, addHistogram, Buckets, type Metrics } from "./instruments.ts";

/** Labels calls of methods that the service does not have, and calls whose client was gone before they were read. */
const unknownMethod = "unknown";

/** Labels requests of the API reference: its pages, what they load, and the OpenAPI document. */
export const referenceMethod = "reference";

/** In seconds: from a fraction of the fastest call to longer than anybody waits. */
const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The calls of one method over one protocol. */
class CallSeries {
  readonly labels: { readonly protocol: string; readonly method: string };
  readonly durations = new Buckets(durationBounds);
  /** By the code of the outcome. */
  readonly counts = new Map<string, Count>();

  constructor(protocol: string, method: string) {
    this.labels = { protocol, method };
  }
}

interface Count {
  value: number;
}

/**
 * Counts calls by protocol, method and outcome, and the durations of those that are no streams. Clients can choose none of
 * these labels freely.
 */
export class CallMetrics {
  readonly #methods: ReadonlySet<string>;
  readonly #series = new Map<string, Map<string, CallSeries>>();
  /** By method. Each starts at 0: Prometheus sees no increase in a series that starts with its first failure. */
  readonly #failures: ReadonlyMap<string, Count>;
  #calls = 0;

  constructor(metrics: Metrics, services: readonly DescService[]) {
    this.#methods = new Set([...services.flatMap(({ methods }) => methods.map(rpcName)), referenceMethod]);
    this.#failures = new Map([...this.#methods, unknownMethod].map((method) => [method, { value: 0 }]));
    addCounter(metrics, {
      name: "petstore_calls_total",
      help: "Calls that have ended, by protocol, method and code. The method `reference` stands for all pages of the API reference, `unknown` for what the service does not have, and for calls whose client was gone before their turn.",
      labelNames: ["protocol", "method", "code"],
      read: () => this.#readCounts(),
    });
    addCounter(metrics, {
      name: "petstore_calls_failed_total",
      help: "Calls that the service has failed, by method: 5xx over REST. Errors of clients are not counted, nor are deadlines that are too short to meet.",
      labelNames: ["method"],
      read: () => [...this.#failures].map(([method, { value }]) => ({ labels: { method }, value })),
    });
    addHistogram(metrics, {
      name: "petstore_call_duration_seconds",
      help: "How long calls took, from the head of the request to the end of the answer. Streams are not among them: they last for as long as their clients like.",
      labelNames: ["protocol", "method"],
      read: () => this.#all().map(({ labels, durations }) => ({ labels, value: durations })),
    });
  }

  /** Counts a call that has ended. */
  readonly ended: CallListener = ({ record }, { code, isFailure }) => {
    const { protocol, method = unknownMethod } = record;
    const series = this.#series.get(protocol)?.get(method) ?? this.#findOrAddSeries(protocol, method);
    const count = series.counts.get(code);
    if (count === undefined) {
      series.counts.set(code, { value: 1 });
    } else {
      count.value += 1;
    }
    if (!record.isStream) {
      series.durations.observe(record.durationMs / 1_000);
    }
    this.#calls += 1;
    if (isFailure) {
      (this.#failures.get(series.labels.method) as Count).value += 1;
    }
  };

  /** The number of calls that have ended. */
  get total(): number {
    return this.#calls;
  }

  /** How many of them failed through the service's fault. */
  get failed(): number {
    return this.#failures.values().reduce((sum, { value }) => sum + value, 0);
  }

  /** All methods that this does not know share one series. */
  #findOrAddSeries(protocol: string, method: string): CallSeries {
    if (method !== unknownMethod && !this.#methods.has(method)) {
      return this.#series.get(protocol)?.get(unknownMethod) ?? this.#findOrAddSeries(protocol, unknownMethod);
    }
    const series = new CallSeries(protocol, method);
    const byMethod = this.#series.get(protocol) ?? new Map<string, CallSeries>();
    this.#series.set(protocol, byMethod.set(method, series));
    return series;
  }

  #all(): CallSeries[] {
    return [...this.#series.values()].flatMap((byMethod) => [...byMethod.values()]);
  }

  #readCounts() {
    return this.#all().flatMap(({ labels, counts }) =>
      [...counts].map(([code, { value }]) => ({ labels: { ...labels, code }, value })),
    );
  }
}

/** How often the number of calls is sampled, in milliseconds. */
const sampleMs = 5_000;

/** How many samples are kept: those of a minute, and the one at its start. */
const sampleCount = 60_000 / sampleMs + 1;

interface Sample {
  /** By `performance.now()`, which no change of the system's clock moves. */
  readonly atMs: number;
  readonly calls: number;
}

/** The calls per second over the last minute, or since the start. */
export class CallRate {
  readonly #calls: () => number;
  readonly #samples: Sample[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(calls: () => number) {
    this.#calls = calls;
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), sampleMs).unref();
  }

  get perSecond(): number {
    const first = this.#samples[0] as Sample;
    const seconds = Math.max(1, (performance.now() - first.atMs) / 1_000);
    return (this.#calls() - first.calls) / seconds;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    this.#samples.push({ atMs: performance.now(), calls: this.#calls() });
    if (this.#samples.length > sampleCount) {
      this.#samples.shift();
    }
  }
}
