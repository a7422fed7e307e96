import { statSync } from "node:fs";
import type { Registry } from "prom-client";
import type { CommittedGroupReport } from "../storage/sqlite/writer.ts";
import { Buckets } from "./buckets.ts";
import { addGauge, addHistogram } from "./instruments.ts";

/** Up to what the queue of updates holds. */
const sizeBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096];

/** From a sync that reaches no disk to one that stands still, in seconds. */
const syncBounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** The sizes of a store's files, in bytes; 0 for one that is not there. */
export interface FileSizes {
  readonly fileBytes: number;
  readonly walBytes: number;
}

/** Measures how the store writes, and how large it is. */
export class StoreMetrics {
  readonly #file: string;
  readonly #sizes = new Buckets(sizeBounds);
  readonly #syncs = new Buckets(syncBounds);

  /** `file` is the store's SQLite file. */
  constructor(registry: Registry, file: string) {
    this.#file = file;
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
    addGauge(registry, {
      name: "petstore_sqlite_file_bytes",
      help: "The size of the store's file.",
      labelNames: [],
      read: () => [{ labels: {}, value: this.fileSizes.fileBytes }],
    });
    addGauge(registry, {
      name: "petstore_sqlite_wal_bytes",
      help: "The size of the store's write-ahead log.",
      labelNames: [],
      read: () => [{ labels: {}, value: this.fileSizes.walBytes }],
    });
  }

  readonly committed = ({ size, syncMs }: CommittedGroupReport): void => {
    this.#sizes.observe(size);
    this.#syncs.observe(syncMs / 1_000);
  };

  get fileSizes(): FileSizes {
    return { fileBytes: sizeOf(this.#file), walBytes: sizeOf(`${this.#file}-wal`) };
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
