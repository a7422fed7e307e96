import type { Command } from "commander";
import type { Order } from "../domain/order.ts";
import type { StockedPet } from "../domain/pet.ts";
import { orderRecord } from "../records/order-record.ts";
import { petRecord } from "../records/pet-record.ts";
import { formatCount } from "../records/record-format.ts";
import { usageFailure } from "./failure.ts";
import { openRecordFile, type RecordFile } from "./record-file.ts";
import { fileName } from "./settings/kind.ts";
import { withStore } from "./store-file.ts";

/** `petstore import [FILE] [--orders FILE]`: pets and orders from files into the store. */
export function addImport(program: Command): void {
  program
    .command("import")
    .summary("put pets and orders from files into the store")
    .description("Puts all records of the files into the store, or none. Records that exist are replaced as a whole.")
    .argument("[file]", "pets: .csv, .json (an array), .jsonl or .ndjson; - for JSON Lines on stdin", fileName.parse)
    .option("--orders <file>", "orders, likewise", fileName.parse)
    .addHelpText("after", help)
    .action(async (pets: string | undefined, _options, command: Command) => {
      const { db, orders } = command.optsWithGlobals<{ db: string; orders?: string }>();
      if (pets === undefined && orders === undefined) {
        throw usageFailure("name a file of pets, or --orders FILE");
      }
      if (pets === "-" && orders === "-") {
        throw usageFailure("pets and orders cannot both come from stdin");
      }
      await importFiles(db, {
        pets: pets === undefined ? undefined : openRecordFile(pets, petRecord),
        orders: orders === undefined ? undefined : openRecordFile(orders, orderRecord),
      });
    });
}

interface Files {
  readonly pets: RecordFile<StockedPet> | undefined;
  readonly orders: RecordFile<Order> | undefined;
}

/** Reads the files twice: the store is not opened, nor created, before all of them are known to be good. */
async function importFiles(db: string, { pets, orders }: Files): Promise<void> {
  await check(pets);
  await check(orders);
  const imports = { pets: pets?.read("importing"), orders: orders?.read("importing") };
  const counts = await withStore(db, (store) => store.importAll(imports));
  if (pets !== undefined) {
    process.stdout.write(`imported ${formatCount(counts.pets, petRecord)}\n`);
  }
  if (orders !== undefined) {
    process.stdout.write(`imported ${formatCount(counts.orders, orderRecord)}\n`);
  }
}

async function check(file: RecordFile<unknown> | undefined): Promise<void> {
  for await (const _record of file?.read("checking") ?? []) {
    // A bad one throws.
  }
}

const help = `
Pets have the columns, or JSON fields, id,name,category,photoUrls,tags,status,quantity and orders
id,petId,quantity,shipDate,status,complete: all of them, in any order, and no others. No id may stand in a file twice.

A CSV file begins with a header row. Its lists are separated by ';'; '\\;' is a semicolon within an element, '\\\\' a
backslash, and a lone '\\' a list of one empty text. Dates are RFC 3339, such as 2026-06-01T12:00:00Z.

A bad row is named by its line, and nothing is changed. A server may run meanwhile: it shows the records within a
second.

Examples:
  $ petstore import pets.csv
  $ petstore import pets.json --orders orders.csv
  $ petstore export --format jsonl | jq -c '.quantity = 0' | petstore import -`;
