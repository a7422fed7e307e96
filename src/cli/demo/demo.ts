import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { RecordChange } from "../../domain/import.ts";
import type { Store } from "../../domain/store.ts";
import type { RecordFormat } from "../../records/record-format.ts";
import { orderRecord, petRecord } from "../../records/record-kinds.ts";
import { readRecords } from "../../records/record-reader.ts";
import { withUnservedStore } from "../store-file.ts";
import { renewDemoKey } from "./key.ts";

/**
 * Makes a store ready to be tried: with pets and orders if it has no pets, and a fresh key, whose secret it gives.
 * Throws `StoreHeldError` when the store is served: then its data, and the key of that demo, are not ours to touch.
 */
export function prepareDemo(db: string): Promise<string> {
  return withUnservedStore(db, async (store) => {
    if ((await store.countPets()) === 0) {
      await fill(store);
    }
    return renewDemoKey(store);
  });
}

async function fill(store: Store): Promise<void> {
  await store.importAll({ pets: read("pets.csv", petRecord), orders: read("orders.csv", orderRecord) });
}

function read<T extends { readonly id: bigint }>(
  name: string,
  format: RecordFormat<T>,
): AsyncIterable<RecordChange<T>> {
  return readRecords(createReadStream(join(import.meta.dirname, name)), "csv", format);
}
