import type { Metric, Registry } from "prom-client";

type PromClient = typeof import("prom-client");

type Addition = (registry: Registry, promClient: PromClient) => void;

/**
 * The metrics of a server. prom-client would be a sixth of the files that a start loads, so it is loaded once the
 * server listens.
 */
export class Metrics {
  readonly #additions: Addition[] = [];
  #loading: Promise<Registry> | undefined;

  /** Adds metrics when prom-client is loaded. */
  add(addition: Addition): void {
    this.#additions.push(addition);
  }

  /** Loads prom-client, unless that has been done. */
  load(): Promise<Registry> {
    this.#loading ??= this.#createRegistry();
    return this.#loading;
  }

  /** All metrics, in Prometheus's text format. */
  async read(): Promise<{ readonly type: string; readonly body: string }> {
    const registry = await this.load();
    return { type: registry.contentType, body: await registry.metrics() };
  }

  async #createRegistry(): Promise<Registry> {
    const { default: promClient } = await import("prom-client");
    const registry = new promClient.Registry();
    for (const add of this.#additions) {
      add(registry, promClient);
    }
    return registry;
  }
}

type Labels<Name extends string> = Readonly<Record<Name, string>>;

/** The present value of one series of a metric. */
interface Reading<Name extends string, Value = number> {
  readonly labels: Labels<Name>;
  readonly value: Value;
}

/** A metric whose values are kept elsewhere, as plain numbers, and are read at a scrape. */
export interface Instrument<Name extends string, Value = number> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Name[];
  readonly read: () => Iterable<Reading<Name, Value>> | Promise<Iterable<Reading<Name, Value>>>;
}

/** Adds a metric that only grows. */
export function addCounter<Name extends string>(metrics: Metrics, instrument: Instrument<Name>): void {
  const { name, help, labelNames, read } = instrument;
  metrics.add((registry, { Counter }) => {
    const counter = new Counter<Name>({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      async collect() {
        const readings = await read();
        counter.reset();
        for (const { labels, value } of readings) {
          counter.inc({ ...labels }, value);
        }
      },
    });
  });
}

/** Adds a metric that goes up and down. Without readings it has no series. */
export function addGauge<Name extends string>(metrics: Metrics, instrument: Instrument<Name>): void {
  const { name, help, labelNames, read } = instrument;
  metrics.add((registry, { Gauge }) => {
    const gauge = new Gauge<Name>({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      async collect() {
        const readings = await read();
        gauge.reset();
        // A reset leaves a gauge without labels at 0, which would be a reading.
        gauge.remove({});
        for (const { labels, value } of readings) {
          gauge.set({ ...labels }, value);
        }
      },
    });
  });
}

/**
 * Adds a histogram. prom-client's own histogram looks up its labels for each value, which costs a tenth of a call. Here
 * prom-client only prints the values.
 */
export function addHistogram<Name extends string>(metrics: Metrics, instrument: Instrument<Name, Buckets>): void {
  const { name, help, read } = instrument;
  const metric = {
    name,
    help,
    type: "histogram",
    aggregator: "sum",
    async get() {
      const readings = [...(await read())];
      return { name, help, type: "histogram", aggregator: "sum", values: readings.flatMap((one) => write(name, one)) };
    },
    reset() {},
  };
  metrics.add((registry) => registry.registerMetric(metric as unknown as Metric));
}

/** The lines of one series: the cumulative buckets, the sum, and the count. */
function write(name: string, { labels, value }: Reading<string, Buckets>) {
  let count = 0;
  const buckets = [...value.counts].map((inBucket, index) => {
    count += inBucket;
    const le = index < value.bounds.length ? String(value.bounds[index]) : "+Inf";
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: value.sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}

/** A histogram of plain numbers. To observe a value costs a few nanoseconds. */
export class Buckets {
  /** The upper bounds of all buckets but the last, in ascending order. */
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) {
      bucket += 1;
    }
    counts[bucket] = (counts[bucket] as number) + 1;
    this.sum += value;
  }
}
