import { type Command, Option } from "commander";
import { type ImportResult, type Imports, UnknownRecordError } from "../../domain/import.ts";
import type { Order } from "../../domain/order.ts";
import type { StockedPet } from "../../domain/pet.ts";
import { columnNames, isWhole } from "../../records/record-format.ts";
import { orderRecord, petRecord } from "../../records/record-kinds.ts";
import { type FileFormat, fileFormats } from "../../records/record-reader.ts";
import { usageFailure } from "../failure.ts";
import { describeImport, warnOfStrays } from "../print/import-text.ts";
import { openRecordFile, type RecordFile } from "../record-file.ts";
import { fileName } from "../settings/value-type.ts";
import { type IfMissing, previewImport, withStore } from "../store-file.ts";

/** `petstore import [FILE] [--orders FILE]`: pets and orders from files into the store. */
export function addImport(program: Command): void {
  program
    .command("import")
    .summary("put pets and orders from files into the store")
    .description("Puts all records of the files into the store, or none of them.")
    .argument("[file]", "pets: .csv, .json (an array), .jsonl or .ndjson; - is stdin", fileName.parse)
    .option("--orders <file>", "orders, likewise", fileName.parse)
    .addOption(
      new Option("--format <format>", "what the files hold (default: by extension; stdin: jsonl)").choices(fileFormats),
    )
    .option("--dry-run", "tell what would be done, and change nothing")
    .addHelpText("after", help)
    .action(async (pets: string | undefined, _options, command: Command) => {
      const options = command.optsWithGlobals<ImportOptions>();
      await importFiles(options, openFiles(pets, options));
    });
}

interface ImportOptions {
  readonly db: string;
  readonly orders?: string;
  readonly format?: FileFormat;
  readonly dryRun?: true;
}

interface Files {
  readonly pets: RecordFile<StockedPet> | undefined;
  readonly orders: RecordFile<Order> | undefined;
}

function openFiles(pets: string | undefined, { orders, format }: ImportOptions): Files {
  if (pets === undefined && orders === undefined) {
    throw usageFailure("name a file of pets, or --orders FILE");
  }
  if (pets === "-" && orders === "-") {
    throw usageFailure("pets and orders cannot both come from stdin");
  }
  return {
    pets: pets === undefined ? undefined : openRecordFile(pets, petRecord, format),
    orders: orders === undefined ? undefined : openRecordFile(orders, orderRecord, format),
  };
}

/** Reads the files twice: the store is not opened, nor created, before all of them are known to be good. */
async function importFiles({ db, dryRun }: ImportOptions, files: Files): Promise<void> {
  const areWhole = [await checkRecords(files.pets), await checkRecords(files.orders)];
  // What changes records that exist has nothing to do in a new store.
  const ifMissing = areWhole.includes(false) ? "refuse" : "create";
  const run = dryRun ? previewImport : importInto;
  const result = await run(db, ifMissing, {
    pets: files.pets?.read("importing"),
    orders: files.orders?.read("importing"),
  }).catch((error: unknown) => {
    throw error instanceof UnknownRecordError ? namingUnknown(error, files) : error;
  });
  for (const kind of ["pets", "orders"] as const) {
    if (files[kind] !== undefined) {
      process.stdout.write(`${dryRun ? "would import" : "imported"} ${describeImport(result, kind)}\n`);
    }
  }
  warnOfStrays(result.strays);
}

function importInto(db: string, ifMissing: IfMissing, imports: Imports): Promise<ImportResult> {
  return withStore(db, ifMissing, (store) => store.importAll(imports));
}

/** Tells whether all records have all of their fields. A bad one throws. */
async function checkRecords<T extends { readonly id: bigint }>(file: RecordFile<T> | undefined): Promise<boolean> {
  let areWhole = true;
  for await (const record of file?.read("checking") ?? []) {
    areWhole &&= file === undefined || isWhole(file.format, record);
  }
  return areWhole;
}

function namingUnknown({ kind, id, message }: UnknownRecordError, files: Files): unknown {
  const columns = kind === "pets" ? columnNames(petRecord) : columnNames(orderRecord);
  return files[kind]?.failureAt(id, `${message}, and a new one needs all of ${columns.join(",")}`);
}

const help = `
Pets have the columns, or JSON fields,
  id,name,category,photoUrls,tags,status,quantity
and orders
  id,petId,quantity,shipDate,status,complete
in any order, and no others. With all of them, a record is created, or takes the
place of the one with its id, the quantity of a pet included. With the id and
some of the others, those alone are changed, and the record must exist: a file
with the columns id,quantity sets the stock. No id may stand in a file twice.

A CSV file begins with a header row. Its lists are separated by ';'; '\\;' is a
semicolon within an element, '\\\\' a backslash, and a lone '\\' a list of one
empty text. Dates are RFC 3339, such as 2026-06-01T12:00:00Z.

A bad row is named by its line, and nothing is changed. Orders may outlive their
pets: those whose pet is missing are taken, with a warning. A server may run
meanwhile, and shows the records within a second.

Examples:
  $ petstore import pets.csv --dry-run
  $ petstore import pets.json --orders orders.csv
  $ printf 'id,quantity\\n7,12\\n' | petstore import - --format csv
  $ petstore export --format jsonl | jq -c '.quantity = 0' | petstore import -`;
