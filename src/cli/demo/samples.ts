import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { Imports, RecordChange } from "../../domain/import.ts";
import { orderRecord, petRecord, type RecordFormat } from "../../records/record-format.ts";
import { readRecords } from "../../records/records.ts";

/** Reads the pets and orders of a demo. */
export function readSamples(): Imports {
  return { pets: read("pets.csv", petRecord), orders: read("orders.csv", orderRecord) };
}

function read<T extends { readonly id: bigint }>(
  name: string,
  format: RecordFormat<T>,
): AsyncIterable<RecordChange<T>> {
  return readRecords(createReadStream(join(import.meta.dirname, name)), "csv", format);
}
