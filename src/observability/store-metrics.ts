import { isUnavailable } from "../domain/errors.ts";
import type { BackupRecord, CommittedGroup, Store } from "../domain/store.ts";
import { settlesWithin } from "../scheduling/timing.ts";
import { addGauge, addHistogram, Buckets, type Instrument, type Metrics } from "./instruments.ts";

/** In writes: from a single one to a full queue of updates. */
const sizeBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096];

/** From a sync that reaches no disk to one that hangs, in seconds. */
const syncBounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** The part of a store that metrics and status ask. */
export type WatchedStore = Pick<Store, "countKeys" | "gauges" | "maintenance" | "listServers">;

const neverBackedUp: BackupRecord = { takenAtMs: 0, bytes: 0 };

const backupGauges: readonly [name: string, help: string, read: (backup: BackupRecord) => number][] = [
  [
    "petstore_last_backup_timestamp_seconds",
    "The time of the last backup by `petstore backup`; 0 when there was none.",
    ({ takenAtMs }) => takenAtMs / 1_000,
  ],
  ["petstore_last_backup_size_bytes", "The size of the last backup; 0 when there was none.", ({ bytes }) => bytes],
];

/** Measures how the store commits. */
export class CommitMetrics {
  readonly #sizes = new Buckets(sizeBounds);
  readonly #syncs = new Buckets(syncBounds);

  constructor(metrics: Metrics) {
    addHistogram(metrics, {
      name: "petstore_commit_group_size",
      help: "How many writes were committed together.",
      labelNames: [],
      read: () => [{ labels: {}, value: this.#sizes }],
    });
    addHistogram(metrics, {
      name: "petstore_commit_sync_seconds",
      help: "How long it took to commit a group: to write and sync the log, or with PostgreSQL from the sending of the writes to their answer.",
      labelNames: [],
      read: () => [{ labels: {}, value: this.#syncs }],
    });
  }

  readonly committed = ({ size, syncMs }: CommittedGroup): void => {
    this.#sizes.observe(size);
    this.#syncs.observe(syncMs / 1_000);
  };
}

/** Shows the keys of a store by plan, its backups, and what its backend tells about itself. */
export function addStoreMetrics(metrics: Metrics, store: WatchedStore, clock: () => number): void {
  addStoreGauge(metrics, {
    name: "petstore_keys",
    help: "Keys that are neither revoked nor expired, by plan.",
    labelNames: ["plan"],
    read: async () => {
      const counts = await store.countKeys(clock());
      return Object.entries(counts).map(([plan, value]) => ({ labels: { plan }, value }));
    },
  });
  for (const { name, help, read } of store.gauges) {
    addStoreGauge(metrics, { name, help, labelNames: [], read: async () => [{ labels: {}, value: await read() }] });
  }
  const { maintenance } = store;
  if (maintenance !== undefined) {
    for (const [name, help, read] of backupGauges) {
      const readAll = async () => [{ labels: {}, value: read((await maintenance.lastBackup()) ?? neverBackedUp) }];
      addStoreGauge(metrics, { name, help, labelNames: [], read: readAll });
    }
  }
}

/**
 * Adds a gauge that asks the store. While the store does not answer, the gauge has no series, and neither fails
 * nor delays the scrape: the other metrics are needed most then.
 */
function addStoreGauge<Name extends string>(metrics: Metrics, instrument: Instrument<Name>): void {
  addGauge(metrics, { ...instrument, read: async () => (await whileReachable(() => instrument.read())) ?? [] });
}

/**
 * How long the store may be silent, in milliseconds. `petstore status` gives up after 5 s, and the question whether the
 * server is ready has taken part of that. Prometheus gives a scrape 10 s.
 */
const patienceMs = 2_000;

/** What the store answers; undefined when it is `UNAVAILABLE`, or silent for 2 s. */
export async function whileReachable<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  const answer = Promise.try(read).catch((error: unknown) => {
    if (isUnavailable(error)) {
      return undefined;
    }
    throw error;
  });
  return (await settlesWithin(patienceMs, answer)) ? answer : undefined;
}
