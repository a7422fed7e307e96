import { createReadStream } from "node:fs";
import { join } from "node:path";
import { orderRecord } from "../../records/order-record.ts";
import { petRecord } from "../../records/pet-record.ts";
import type { RecordFormat } from "../../records/record-format.ts";
import { readRecords } from "../../records/record-reader.ts";
import { acquireServerLock } from "../../storage/sqlite/server-lock.ts";
import { withStore } from "../store-file.ts";

/**
 * Puts the demo's pets and orders into a store that has no pets. Throws `StoreHeldError` when the store is served: its
 * data are not ours to touch then.
 */
export async function fillEmptyStore(db: string): Promise<void> {
  const lock = acquireServerLock(db);
  try {
    await withStore(db, async (store) => {
      if ((await store.countPets()) > 0) return;
      await store.importPets(read("pets.csv", petRecord));
      await store.importOrders(read("orders.csv", orderRecord));
    });
  } finally {
    lock.release();
  }
}

function read<T extends { readonly id: bigint }>(name: string, format: RecordFormat<T>): AsyncIterable<T> {
  return readRecords(createReadStream(join(import.meta.dirname, name)), "csv", format);
}
