import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Command, Option } from "commander";
import type { Store } from "../../domain/store.ts";
import { orderRecord, petRecord } from "../../records/record-kinds.ts";
import { type WrittenFormat, writeRecords, writtenFormats } from "../../records/record-writer.ts";
import { withProgress } from "../print/progress.ts";
import { withExistingStore } from "../store-file.ts";

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
      await withExistingStore(options.db, (store) => exportAll(store, options));
    });
}

interface ExportOptions {
  readonly db: string;
  readonly format: WrittenFormat;
  readonly orders?: true;
}

/** Shows how far it has come where stdout goes elsewhere: on the same terminal the rows themselves do. */
async function exportAll(store: Store, options: ExportOptions): Promise<void> {
  if (process.stdout.isTTY) {
    return print(exportChunks(store, options));
  }
  const total = await (options.orders === undefined ? store.countPets() : store.countOrders());
  await withProgress("exporting", (report) =>
    print(exportChunks(store, options, (done) => report(Math.min(done, total), total))),
  );
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

/** So many records are passed on between two reports. */
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
In CSV, lists are separated by ';'. Where an element holds one, it is written
'\\;', and a backslash before a ';' or another backslash is written '\\\\'. JSON
Lines needs no such rule.

Examples:
  $ petstore export > pets.csv
  $ petstore export --format jsonl | jq 'select(.quantity < 3)'
  $ petstore export --orders > orders.csv`;
