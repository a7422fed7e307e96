import { closeSync, openSync, readSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import type { CheckDepth, ReportProgress } from "../../../domain/store/store-maintenance.ts";
import { Connection } from "../connection.ts";
import { identify } from "../database.ts";
import { resolveDatabase, StoreFileError, toStoreFileError } from "../files/store-file.ts";
import { findSchemaFaults } from "../schema.ts";
import { type Invariant, invariants } from "./invariants.ts";

/** The first version of the schema whose stock may lack changes. */
const currentStockSince = 7;

/** The most faults of one kind that are reported. */
const maxFaults = 100;

/** One part of the check. It returns a line for each fault. */
interface Step {
  readonly subject: string;
  readonly findFaults: (connection: Connection) => readonly string[];
}

/**
 * Looks for faults in a store: in its pages, schema, references and invariants. Returns a line for each fault. Changes
 * no data; SQLite writes the log back when nobody else has the store open. Others may read and write meanwhile. Throws
 * `StoreFileError` when the file cannot be read as a store at all.
 */
export async function checkDatabase(file: string, depth: CheckDepth, report?: ReportProgress): Promise<string[]> {
  const connection = openForReading(file);
  const faults: string[] = [];
  try {
    const steps = stepsOf(depth);
    for (const [done, step] of steps.entries()) {
      report?.(done, steps.length);
      // Each step may take long: the progress is shown between two.
      await setImmediate();
      faults.push(...run(step, connection));
    }
    report?.(steps.length, steps.length);
  } finally {
    connection.close();
  }
  // Only now: closing the file drops the locks that this process has on it.
  return [...findHeaderFaults(file), ...faults];
}

/** Opens a store for reading, and does not migrate it. Throws `StoreFileError`. */
export function openForReading(file: string): Connection {
  try {
    const connection = new Connection(resolveDatabase(file, "refuse"));
    try {
      if (identify(connection, file) === "empty") {
        throw new StoreFileError(`${file}: empty, and no store yet`);
      }
      connection.pragma("query_only = ON");
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  } catch (error) {
    throw toStoreFileError(error, file);
  }
}

function stepsOf(depth: CheckDepth): readonly Step[] {
  const pragma = depth === "quick" ? "quick_check" : "integrity_check";
  return [
    { subject: "the pages", findFaults: (connection) => findPageFaults(connection, pragma) },
    { subject: "the schema", findFaults: (connection) => findSchemaFaults(connection).slice(0, maxFaults) },
    { subject: "the references", findFaults: findBrokenReferences },
    ...invariants.map(stepOf),
  ];
}

function stepOf({ subject, sql, since = 1, values = [] }: Invariant): Step {
  return {
    subject,
    findFaults: (connection) => {
      const version = Number(connection.pragma("user_version"));
      // Older versions have no view: there the table has all changes.
      const stock = version < currentStockSince ? "stock" : "current_stock";
      return version < since
        ? []
        : connection
            .all<{ fault: string }>(`${sql.replaceAll("current_stock", stock)} LIMIT ${maxFaults}`, ...values)
            .map(({ fault }) => fault);
    },
  };
}

/** A store with damaged pages may fail anywhere: that is a fault, too. */
function run({ subject, findFaults }: Step, connection: Connection): readonly string[] {
  try {
    return findFaults(connection);
  } catch (error) {
    return [`${subject} cannot be read: ${(error as Error).message}`];
  }
}

/**
 * SQLite silently reads a file that only a later version may write.
 *
 * Source: https://sqlite.org/fileformat2.html#file_format_version_numbers
 */
function findHeaderFaults(file: string): string[] {
  const versions = Buffer.alloc(2);
  const descriptor = openSync(file, "r");
  readSync(descriptor, versions, 0, versions.length, 18);
  closeSync(descriptor);
  const [write = 0, read] = versions;
  return write <= 2 ? [] : [`the header: it asks for version ${write} to write the file, and for ${read} to read it`];
}

/** Source: https://sqlite.org/pragma.html#pragma_integrity_check */
function findPageFaults(connection: Connection, pragma: "quick_check" | "integrity_check"): string[] {
  const rows = connection.all<Record<string, string>>(`PRAGMA ${pragma}(${maxFaults})`);
  const lines = rows.flatMap((row) => Object.values(row).flatMap((text) => text.split("\n")));
  return lines.filter((line) => line !== "ok" && !line.startsWith("***"));
}

interface BrokenReference {
  readonly table: string;
  readonly parent: string;
}

/** Source: https://sqlite.org/pragma.html#pragma_foreign_key_check */
function findBrokenReferences(connection: Connection): string[] {
  const rows = connection.all<BrokenReference>("PRAGMA foreign_key_check");
  return rows.slice(0, maxFaults).map(({ table, parent }) => `${table}: a row is of nothing that ${parent} has`);
}
