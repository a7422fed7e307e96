import { closeSync, openSync, readSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import type { ReportProgress } from "../../../domain/store-maintenance.ts";
import { Connection } from "../connection.ts";
import { identify, resolveDatabase, StoreFileError, toStoreFileError } from "../database.ts";
import { findSchemaFaults } from "../schema.ts";
import { invariants } from "./invariants.ts";

/** A quick check passes over what takes longest: whether the indexes agree with their tables. */
export type CheckDepth = "quick" | "full";

/** No more faults of one kind are told. */
const maxFaults = 100;

/** One thing to look at. It gives a line for each fault. */
interface Step {
  readonly subject: string;
  readonly findFaults: (connection: Connection) => readonly string[];
}

/**
 * Looks for whatever is wrong in a store: in its pages, its schema, its references and what the service relies on.
 * Gives a line for each fault, and changes nothing of what it holds; where nobody has the store open, SQLite writes its
 * log back. Others may go on reading and writing. Throws `StoreFileError` when the file cannot be read as a store at
 * all.
 */
export async function checkDatabase(file: string, depth: CheckDepth, report?: ReportProgress): Promise<string[]> {
  const connection = openForReading(file);
  const faults: string[] = [];
  try {
    const steps = stepsOf(depth);
    for (const [done, step] of steps.entries()) {
      report?.(done, steps.length);
      // Each of them may take long: what shows the progress is to have its turn between them.
      await setImmediate();
      faults.push(...run(step, connection));
    }
    report?.(steps.length, steps.length);
  } finally {
    connection.close();
  }
  // Not before: to close a file takes back the process's own locks on it.
  return [...findHeaderFaults(file), ...faults];
}

/** Opens a store that is not to be changed, migrated neither. Throws `StoreFileError`. */
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
    ...invariants.map(({ subject, sql, values = [] }) => ({
      subject,
      findFaults: (connection: Connection) =>
        connection.all<{ fault: string }>(`${sql} LIMIT ${maxFaults}`, ...values).map(({ fault }) => fault),
    })),
  ];
}

/** A store whose pages are damaged may fail anywhere: that is a fault as well. */
function run({ subject, findFaults }: Step, connection: Connection): readonly string[] {
  try {
    return findFaults(connection);
  } catch (error) {
    return [`${subject} cannot be read: ${(error as Error).message}`];
  }
}

/**
 * SQLite reads a file of which a later version must do the writing, and says nothing of that.
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
