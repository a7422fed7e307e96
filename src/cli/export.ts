import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Command, Option } from "commander";
import type { Store } from "../domain/store.ts";
import { orderRecord } from "../records/order-record.ts";
import { petRecord } from "../records/pet-record.ts";
import { type WrittenFormat, writeRecords, writtenFormats } from "../records/record-writer.ts";
import { withExistingStore } from "./store-file.ts";

/** `petstore export`: all pets, or all orders, on stdout. */
export function addExport(program: Command): void {
  program
    .command("export")
    .summary("write the pets or the orders to stdout")
    .description("Writes all pets with their stock to stdout, by ascending id, as `import` reads them.")
    .addOption(new Option("--format <format>", "the format").choices(writtenFormats).default("csv"))
    .option("--orders", "write the orders instead")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<ExportOptions>();
      await withExistingStore(options.db, (store) => print(exportChunks(store, options)));
    });
}

interface ExportOptions {
  readonly db: string;
  readonly format: WrittenFormat;
  readonly orders?: true;
}

function exportChunks(store: Store, { format, orders }: ExportOptions): AsyncIterable<string> {
  return orders === undefined
    ? writeRecords(store.exportPets(), format, petRecord)
    : writeRecords(store.exportOrders(), format, orderRecord);
}

/** Writes no faster than stdout is read. A reader that has seen enough, as `head` has, is no failure. */
async function print(chunks: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(Readable.from(chunks), process.stdout, { end: false });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) {
      throw error;
    }
  }
}

const help = `
In CSV, lists are separated by ';'. Where an element holds one, it is written '\\;', and a backslash before a ';' or
another backslash is written '\\\\'. JSON Lines needs no such rule.

Examples:
  $ petstore export > pets.csv
  $ petstore export --format jsonl | jq 'select(.quantity < 3)'
  $ petstore export --orders > orders.csv`;
