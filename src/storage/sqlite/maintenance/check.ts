import { closeSync, openSync, readSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { lastBanStep } from "../../../domain/ban.ts";
import { scopes } from "../../../domain/key.ts";
import { maxTimestampMs, minTimestampMs } from "../../../domain/ranges.ts";
import type { CheckDepth, ReportProgress } from "../../../domain/store-maintenance.ts";
import { Connection, type Value } from "../connection.ts";
import { identify } from "../database.ts";
import { resolveDatabase, StoreFileError, toStoreFileError } from "../files/store-path.ts";
import { findSchemaFaults } from "../schema.ts";

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
    ...invariants.map(({ subject, sql, values = [] }) => ({
      subject,
      findFaults: (connection: Connection) =>
        connection.all<{ fault: string }>(`${sql} LIMIT ${maxFaults}`, ...values).map(({ fault }) => fault),
    })),
  ];
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

/** A rule for rows that the schema cannot express. */
export interface Invariant {
  /** What the rule is about, for error messages. */
  readonly subject: string;
  /** Selects a `fault` for each row that breaks the rule. */
  readonly sql: string;
  readonly values?: readonly Value[];
}

/** All rules that the service relies on. */
export const invariants: readonly Invariant[] = [
  {
    subject: "the pets' lists",
    sql: `SELECT 'pet ' || id || ': its photoUrls and tags must be lists of texts' AS fault FROM pets
          WHERE NOT (${isListOfTexts("photo_urls")} AND ${isListOfTexts("tags")})`,
  },
  {
    subject: "the orders' dates",
    sql: `SELECT 'order ' || id || ': its shipDate must be in the years 1 to 9999' AS fault FROM orders
          WHERE ${isNoTime("ship_date_ms")}`,
  },
  {
    subject: "the keys",
    sql: `SELECT 'key ' || id || ': its scopes must be a list of scopes that there are' AS fault FROM keys
          WHERE NOT (${isListOfTexts("scopes")})
             OR EXISTS (SELECT 1 FROM json_each(scopes) WHERE value NOT IN (SELECT value FROM json_each(?)))
          UNION ALL
          SELECT 'key ' || id || ': its limits must be 1 at least' FROM keys WHERE min(per_minute, per_day) < 1
          UNION ALL
          SELECT 'key ' || id || ': its times must be in the years 1 to 9999' FROM keys
          WHERE ${isNoTime("created_at_ms")} OR ${isNoTime("expires_at_ms")} OR ${isNoTime("revoked_at_ms")}
          UNION ALL
          SELECT 'key ' || id || ': it has no secret' FROM keys
          WHERE NOT EXISTS (SELECT 1 FROM secrets WHERE key_id = keys.id)`,
    values: [JSON.stringify(scopes)],
  },
  {
    subject: "the secrets",
    sql: `SELECT 'key ' || key_id || ': the hash of a secret must have 32 bytes' AS fault FROM secrets
          WHERE length(hash) <> 32`,
  },
  {
    subject: "the counters",
    sql: `SELECT 'key ' || key_id || ': a window must have a beginning and a count from 1 on, or neither' AS fault
          FROM usage
          WHERE NOT (${isWindow("minute")} AND ${isWindow("day")} AND ${isWindow("refusals")})
          UNION ALL
          SELECT 'key ' || key_id || ': a ban must have an end and a step from 1 to ${lastBanStep}, or neither' FROM usage
          WHERE (ban_step IS NULL) <> (ban_ends_at_ms IS NULL) OR ban_step NOT BETWEEN 1 AND ${lastBanStep}
          UNION ALL
          SELECT 'key ' || key_id || ': its counters know of more unbans than the key' FROM usage
          JOIN keys ON keys.id = usage.key_id WHERE usage.unbans > keys.unbans`,
  },
];

/** The JSON functions throw for invalid JSON, so `json_valid` comes first. */
function isListOfTexts(column: string): string {
  return `CASE WHEN json_valid(${column})
            THEN json_type(${column}) = 'array' AND NOT EXISTS (SELECT 1 FROM json_each(${column}) WHERE type <> 'text')
            ELSE false END`;
}

/** NULL is valid. */
function isNoTime(column: string): string {
  return `ifnull(${column} NOT BETWEEN ${minTimestampMs} AND ${maxTimestampMs}, false)`;
}

function isWindow(name: string): string {
  return `(${name}_opened_at_ms IS NULL) = (${name}_count IS NULL) AND ifnull(${name}_count >= 1, true)`;
}
