import { fstatSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Command, Option } from "commander";
import type { Store } from "../../domain/store.ts";
import { orderRecord, petRecord } from "../../records/record-format.ts";
import { type WrittenFormat, writeRecords, writtenFormats } from "../../records/records.ts";
import { withProgress } from "../long-work.ts";
import { withExistingStore } from "../store.ts";

/** `petstore export`: all pets, or all orders, on stdout. */
export function addExport(program: Command): void {
  program
    .command("export")
    .summary("write the pets or the orders to stdout")
    .description("Writes all pets with their stock to stdout, by ascending id. 'petstore import' reads the result.")
    .addOption(new Option("--format <format>", "the format").choices(writtenFormats).default("csv"))
    .option("--orders", "write the orders instead")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<ExportOptions>();
      await withExistingStore(options.db, (store) => exportAll(store, options));
    });
}

interface ExportOptions {
  readonly db: string;
  readonly format: WrittenFormat;
  readonly orders?: true;
}

/**
 * Shows a progress bar where stdout is a file. On a terminal the rows themselves show the progress. The reader of a pipe
 * may print to the same terminal.
 */
async function exportAll(store: Store, options: ExportOptions): Promise<void> {
  if (!fstatSync(1).isFile()) {
    return print(exportChunks(store, options));
  }
  const total = await (options.orders === undefined ? store.countPets() : store.countOrders());
  await withProgress("exporting", async (report) => {
    report(0, total);
    await print(exportChunks(store, options, (done) => report(Math.min(done, total), total)));
  });
}

function exportChunks(
  store: Store,
  { format, orders }: ExportOptions,
  report: (done: number) => void = () => {},
): AsyncIterable<string> {
  return orders === undefined
    ? writeRecords(counting(store.exportPets(), report), format, petRecord)
    : writeRecords(counting(store.exportOrders(), report), format, orderRecord);
}

/** The number of records between two reports. */
const recordsPerReport = 1_000;

async function* counting<T>(records: AsyncIterable<T>, report: (done: number) => void): AsyncGenerator<T> {
  let done = 0;
  for await (const record of records) {
    yield record;
    done += 1;
    if (done % recordsPerReport === 0) {
      report(done);
    }
  }
}

/** Writes as fast as stdout is read. A reader that closes it early, such as `head`, is no failure. */
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
In CSV, the elements of a list are separated by ';'. A ';' within an element is
written '\\;', and a backslash before a ';' or a backslash is written '\\\\'. JSON
Lines needs no such rule. Use jq 1.7 or newer: older ones round numbers beyond
2^53, also in ids.

Examples:
  $ petstore export > pets.csv
  $ petstore export --format jsonl | jq 'select(.quantity < 3)'
  $ petstore export --orders > orders.csv`;
