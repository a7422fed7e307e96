import type { Registry } from "prom-client";
import type { BackupRecord, Store, StoreSpace } from "../domain/store.ts";
import type { CommittedGroupReport } from "../storage/sqlite/writer.ts";
import { Buckets } from "./buckets.ts";
import { addHistogram } from "./instruments.ts";
import { addStoreGauge } from "./store-gauge.ts";

/** Up to what the queue of updates holds. */
const sizeBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096];

/** From a sync that reaches no disk to one that stands still, in seconds. */
const syncBounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** What is asked of a store, when somebody wants to know. */
export type WatchedStore = Pick<Store, "countKeys" | "lastBackup" | "space">;

const spaceGauges: readonly [name: string, help: string, read: (space: StoreSpace) => number][] = [
  ["petstore_sqlite_file_bytes", "The size of the store's file.", ({ dataBytes }) => dataBytes],
  ["petstore_sqlite_wal_bytes", "The size of the store's write-ahead log.", ({ logBytes }) => logBytes],
  [
    "petstore_store_filesystem_free_bytes",
    "What is free for the store on its file system.",
    ({ freeBytes }) => freeBytes,
  ],
  [
    "petstore_store_filesystem_size_bytes",
    "The size of the store's file system.",
    ({ capacityBytes }) => capacityBytes,
  ],
];

const neverBackedUp: BackupRecord = { takenAtMs: 0, bytes: 0 };

const backupGauges: readonly [name: string, help: string, read: (backup: BackupRecord) => number][] = [
  [
    "petstore_last_backup_timestamp_seconds",
    "The time of which the last backup by `petstore backup` is; 0 when there was none.",
    ({ takenAtMs }) => takenAtMs / 1_000,
  ],
  ["petstore_last_backup_size_bytes", "The size of the last backup; 0 when there was none.", ({ bytes }) => bytes],
];

/** Measures how the store writes, and how it is kept. */
export class StoreMetrics {
  readonly #sizes = new Buckets(sizeBounds);
  readonly #syncs = new Buckets(syncBounds);

  constructor(registry: Registry) {
    addHistogram(registry, {
      name: "petstore_commit_group_size",
      help: "How many writes were committed together.",
      labelNames: [],
      read: () => [{ labels: {}, value: this.#sizes }],
    });
    addHistogram(registry, {
      name: "petstore_commit_sync_seconds",
      help: "How long it took to commit a group: to write it to the log, and to sync the log to disk.",
      labelNames: [],
      read: () => [{ labels: {}, value: this.#syncs }],
    });
  }

  readonly committed = ({ size, syncMs }: CommittedGroupReport): void => {
    this.#sizes.observe(size);
    this.#syncs.observe(syncMs / 1_000);
  };
}

/** Shows how much room a store takes and has left, and when it was backed up. */
export function addKeepingMetrics(registry: Registry, store: WatchedStore): void {
  for (const [name, help, read] of spaceGauges) {
    const readAll = async () => [{ labels: {}, value: read(await store.space()) }];
    addStoreGauge(registry, { name, help, labelNames: [], read: readAll });
  }
  for (const [name, help, read] of backupGauges) {
    const readAll = async () => [{ labels: {}, value: read((await store.lastBackup()) ?? neverBackedUp) }];
    addStoreGauge(registry, { name, help, labelNames: [], read: readAll });
  }
}
