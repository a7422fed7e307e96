import type { StoreGauge, StoreMaintenance, StoreSpace } from "../../domain/store-maintenance.ts";

const gauges: readonly [name: string, help: string, read: (space: StoreSpace) => number][] = [
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

/** The sizes of the store's files, and of their file system. */
export function fileGauges(maintenance: StoreMaintenance): StoreGauge[] {
  return gauges.map(([name, help, read]) => ({ name, help, read: async () => read(await maintenance.space()) }));
}
