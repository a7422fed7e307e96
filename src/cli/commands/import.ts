import { type Command, Option } from "commander";
import {
  type ImportResult,
  type Imports,
  type Order,
  type StockedPet,
  type StrayOrders,
  UnknownRecordError,
} from "../../domain/catalog.ts";
import { columnNames, formatCount, isWhole, orderRecord, petRecord } from "../../records/record-format.ts";
import { type FileFormat, fileFormats } from "../../records/records.ts";
import { usageFailure } from "../failure.ts";
import { interruptibly } from "../long-work.ts";
import { openRecordFile, type RecordFile } from "../record-file.ts";
import { fileName } from "../settings/value-type.ts";
import { previewImport, withStore } from "../store.ts";

/** `petstore import [FILE] [--orders FILE]`: pets and orders from files into the store. */
export function addImport(program: Command): void {
  program
    .command("import")
    .summary("import pets and orders from files")
    .description("Imports all records of the files into the store, or none of them.")
    .argument("[file]", "pets: .csv, .json (an array), .jsonl or .ndjson; - is stdin", fileName.parse)
    .option("--orders <file>", "orders, in the same formats", fileName.parse)
    .addOption(
      new Option("--format <format>", "the format of the files (default: by extension; stdin: jsonl)").choices(
        fileFormats,
      ),
    )
    .option("--dry-run", "say what would be done, and change nothing")
    .addHelpText("after", help)
    .action(async (pets: string | undefined, _options, command: Command) => {
      const options = command.optsWithGlobals<ImportOptions>();
      // Opening a named pipe blocks until it has a writer. No listener could run meanwhile.
      const files = openFiles(pets, options);
      await interruptibly((_guard, interrupted) => importFiles(options, files, interrupted), "nothing imported");
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

async function importFiles(options: ImportOptions, files: Files, interrupted: AbortSignal): Promise<void> {
  const { dryRun } = options;
  const result = await runImport(options, files, interrupted).catch((error: unknown) => {
    throw error instanceof UnknownRecordError ? unknownRecordFailure(error, files) : error;
  });
  for (const kind of ["pets", "orders"] as const) {
    if (files[kind] !== undefined) {
      process.stdout.write(`${dryRun ? "would import" : "imported"} ${describeImport(result, kind)}\n`);
    }
  }
  warnAboutStrays(result.strays);
}

/**
 * Reads the files several times: the store is opened, created or migrated only once the import is known to succeed. If
 * it is interrupted after that, the new or migrated store stays, without the records.
 */
async function runImport({ db, dryRun }: ImportOptions, files: Files, interrupted: AbortSignal): Promise<ImportResult> {
  const areWhole = [await checkRecords(files.pets, interrupted), await checkRecords(files.orders, interrupted)];
  const read = (action: string) => ({
    pets: files.pets?.read(action, interrupted),
    orders: files.orders?.read(action, interrupted),
  });
  if (dryRun) {
    return previewImport(db, read("importing"));
  }
  if (areWhole.includes(false)) {
    // Some records may be unknown to the store. They all are where there is no store.
    await previewImport(db, read("checking"));
  }
  return importInto(db, read("importing"));
}

function importInto(db: string, imports: Imports): Promise<ImportResult> {
  return withStore(db, "create", (store) => store.importAll(imports));
}

/** Reads all records. Returns whether all of them have all fields. Throws a `Failure` for a bad one. */
async function checkRecords<T extends { readonly id: bigint }>(
  file: RecordFile<T> | undefined,
  interrupted: AbortSignal,
): Promise<boolean> {
  let areWhole = true;
  for await (const record of file?.read("checking", interrupted) ?? []) {
    areWhole &&= file === undefined || isWhole(file.format, record);
  }
  return areWhole;
}

function unknownRecordFailure({ kind, id, message }: UnknownRecordError, files: Files): unknown {
  const columns = kind === "pets" ? columnNames(petRecord) : columnNames(orderRecord);
  return files[kind]?.failureAt(id, `${message}, and a new one needs all of ${columns.join(",")}`);
}

/** Describes the result of an import, such as `50 pets: 3 created, 47 replaced`. */
function describeImport(result: ImportResult, kind: "pets" | "orders"): string {
  const counts = Object.entries(result[kind]).filter(([, count]) => count > 0);
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const parts = counts.map(([what, count]) => `${count} ${what}`).join(", ");
  return `${formatCount(total, kind === "pets" ? petRecord : orderRecord)}${parts === "" ? "" : `: ${parts}`}`;
}

/** Warns on stderr about orders of missing pets. They are no error, because orders outlive their pets. */
function warnAboutStrays({ count, petCount, petIds }: StrayOrders): void {
  if (count === 0) {
    return;
  }
  const names = `${petIds.join(", ")}${petIds.length < petCount ? ", …" : ""}`;
  const verb = count === 1 ? "names a pet that is" : "name pets that are";
  process.stderr.write(`petstore: warning: ${formatCount(count, orderRecord)} ${verb} not in the store: ${names}\n`);
}

const help = `
Pets have the columns, or JSON fields,
  id,name,category,photoUrls,tags,status,quantity
and orders
  id,petId,quantity,shipDate,status,complete
in any order, and no others. A record with all of them is created, or replaces
the one with its id, including a pet's quantity. A record with the id and some
of the others changes only those, and must exist: a file with the columns
id,quantity sets the stock. An id may appear in a file only once.

A CSV file begins with a header row. The elements of a list are separated by
';'. '\\;' is a semicolon within an element, '\\\\' a backslash, and a lone '\\' a
list of one empty text. Dates are RFC 3339, such as 2026-06-01T12:00:00Z.

A bad row is reported with its line, and nothing is changed. Orders of missing
pets are imported with a warning. A server may run meanwhile. It shows the
records within a second.

Use jq 1.7 or newer: older ones round numbers beyond 2^53, also in ids.

Examples:
  $ petstore import pets.csv --dry-run
  $ petstore import pets.json --orders orders.csv
  $ printf 'id,quantity\\n7,12\\n' | petstore import - --format csv
  $ petstore export --format jsonl | jq -c '.quantity = 0' | petstore import -`;
