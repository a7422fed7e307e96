import type { Command } from "commander";
import type { Store } from "../domain/store.ts";
import { orderRecord } from "../records/order-record.ts";
import { petRecord } from "../records/pet-record.ts";
import type { RecordFormat } from "../records/record-format.ts";
import { usageFailure } from "./failure.ts";
import { openRecordFile, type RecordFile } from "./record-file.ts";
import { withStore } from "./store-file.ts";

/** `petstore import [FILE] [--orders FILE]`: pets and orders from files into the store. */
export function addImport(program: Command): void {
  program
    .command("import")
    .summary("put pets and orders from files into the store")
    .description("Puts all records of the files into the store, or none. Records that exist are replaced as a whole.")
    .argument("[file]", "pets: .csv, .json (an array), .jsonl or .ndjson; - for JSON Lines on stdin")
    .option("--orders <file>", "orders, likewise")
    .addHelpText("after", help)
    .action(async (pets: string | undefined, _options, command: Command) => {
      const { db, orders } = command.optsWithGlobals<{ db: string; orders?: string }>();
      if (pets === undefined && orders === undefined) {
        throw usageFailure("name a file of pets, or --orders FILE");
      }
      if (pets === "-" && orders === "-") {
        throw usageFailure("pets and orders cannot both come from stdin");
      }
      const loads = [
        ...(pets === undefined ? [] : [createLoad(pets, petRecord, (store, records) => store.importPets(records))]),
        ...(orders === undefined
          ? []
          : [createLoad(orders, orderRecord, (store, records) => store.importOrders(records))]),
      ];
      await importAll(db, loads);
    });
}

/** One file and where its records go. */
interface Load {
  readonly file: RecordFile;
  check(): Promise<void>;
  /** Puts the records into the store, and says so in a line. */
  run(store: Store): Promise<string>;
}

/**
 * Files are read twice: nothing is opened or written before all of them are known to be good. Stdin can be read only
 * once, so it goes first, while a failure can still leave everything as it was.
 */
async function importAll(db: string, loads: readonly Load[]): Promise<void> {
  for (const load of loads) {
    if (load.file.isRereadable) {
      await load.check();
    }
  }
  const ordered = loads.toSorted((a, b) => Number(a.file.isRereadable) - Number(b.file.isRereadable));
  await withStore(db, async (store) => {
    for (const load of ordered) {
      process.stdout.write(`${await load.run(store)}\n`);
    }
  });
}

function createLoad<T extends { readonly id: bigint }>(
  path: string,
  format: RecordFormat<T>,
  put: (store: Store, records: AsyncIterable<T>) => Promise<number>,
): Load {
  const file = openRecordFile(path);
  return {
    file,
    check: async () => {
      for await (const _record of file.read(format, "checking")) {
      }
    },
    run: async (store) => `imported ${await put(store, file.read(format, "importing"))} ${format.plural}`,
  };
}

const help = `
Pets have the columns, or JSON fields, id,name,category,photoUrls,tags,status,quantity and orders
id,petId,quantity,shipDate,status,complete: all of them, in any order, and no others. No id may stand in a file twice.

A CSV file begins with a header row. Its lists are separated by ';'; '\\;' is a semicolon within an element, '\\\\' a
backslash, and a lone '\\' a list of one empty text. Dates are RFC 3339, such as 2026-06-01T12:00:00Z.

A bad row is named by its line, and nothing is changed. A server may run meanwhile, and shows the records at once.

Examples:
  $ petstore import pets.csv
  $ petstore import pets.json --orders orders.csv
  $ petstore export --format jsonl | jq -c '.quantity = 0' | petstore import -`;
