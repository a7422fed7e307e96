import { isUtf8 } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { scopes } from "../../../domain/key.ts";
import { lastBanStep } from "../../../domain/limits.ts";
import { maxTimestampMs, minTimestampMs } from "../../../domain/ranges.ts";
import type { CheckDepth, ReportProgress } from "../../../domain/store.ts";
import { keptAttempts } from "../../../domain/webhook.ts";
import { Connection, type Value } from "../connection.ts";
import { findSchemaFaults, identify, ownTables } from "../database.ts";
import { changesPerMark } from "../stock.ts";
import { resolveDatabase, StoreFileError, toStoreFileError } from "../store-file.ts";

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
    { subject: "the texts", findFaults: findBrokenTexts },
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
  const rows = connection.all<BrokenReference>(
    `SELECT faults."table", faults.parent FROM json_each(?) AS own
     JOIN pragma_foreign_key_check(own.value) AS faults LIMIT ${maxFaults}`,
    JSON.stringify(ownTables(connection)),
  );
  return rows.map(({ table, parent }) => `${table}: a row refers to a missing row of ${parent}`);
}

interface TextColumn {
  readonly name: string;
  readonly column: string;
  /** The column that names the table's rows: `id`, or else the first one. */
  readonly id: string;
}

/** SQLite stores any bytes as a text, and reads those that are not UTF-8 as other characters. */
function findBrokenTexts(connection: Connection): string[] {
  const columns = connection.all<TextColumn>(
    `SELECT own.value AS name, columns.name AS "column", ids.name AS id FROM json_each(?) AS own
     JOIN pragma_table_info(own.value) AS columns ON columns.type = 'TEXT'
     JOIN pragma_table_info(own.value) AS ids ON ids.cid =
       (SELECT cid FROM pragma_table_info(own.value) ORDER BY name = 'id' DESC, cid LIMIT 1)`,
    JSON.stringify(ownTables(connection)),
  );
  return columns.flatMap((column) => [...brokenTextsIn(connection, column)]).slice(0, maxFaults);
}

/** Texts that are plain ASCII, as most are, stay within SQLite. GLOB reads a text up to its first NUL. */
function* brokenTextsIn(connection: Connection, { name, column, id }: TextColumn): Iterable<string> {
  const rows = connection.iterate<{ id: bigint | string; bytes: Uint8Array }>(
    `SELECT "${id}" AS id, CAST("${column}" AS BLOB) AS bytes FROM "${name}"
     WHERE "${column}" GLOB ? OR instr(CAST("${column}" AS BLOB), x'00')`,
    "*[^\u0001-\u007f]*",
  );
  let found = 0;
  for (const row of rows) {
    if (!isUtf8(row.bytes)) {
      yield `${name}: the ${column} of ${row.id} is not valid UTF-8`;
      found += 1;
    }
    if (found === maxFaults) {
      return;
    }
  }
}

/** A rule for rows that the schema cannot express. */
interface Invariant {
  /** What the rule is about, for error messages. */
  readonly subject: string;
  /** Selects a `fault` for each row that breaks the rule. */
  readonly sql: string;
  /** The first version of the schema that has what the rule is about; 1 by default. */
  readonly since?: number;
  readonly values?: readonly Value[];
}

/** The first version of the schema that has stock, holds and history. */
const stockSince = 5;

/** The first version of the schema that has webhooks. */
const webhooksSince = 6;

/** The rules that the service relies on. */
const invariants: readonly Invariant[] = [
  {
    subject: "the pets' lists",
    sql: `SELECT 'pet ' || id || ': its photoUrls and tags must be lists of texts' AS fault FROM pets
          WHERE NOT (${isListOfTexts("photo_urls")} AND ${isListOfTexts("tags")})`,
  },
  {
    subject: "the orders' dates",
    sql: `SELECT 'order ' || id || ': its shipDate must be in the years 1 to 9999' AS fault FROM orders
          WHERE ${isImpossibleTime("ship_date_ms")}`,
  },
  {
    subject: "the keys",
    sql: `SELECT 'key ' || id || ': it has an unknown scope, or its scopes are no list' AS fault FROM keys
          WHERE NOT (${isListOfTexts("scopes")})
             OR EXISTS (SELECT 1 FROM json_each(scopes) WHERE value NOT IN (SELECT value FROM json_each(?)))
          UNION ALL
          SELECT 'key ' || id || ': its limits must be 1 at least' FROM keys WHERE min(per_minute, per_day) < 1
          UNION ALL
          SELECT 'key ' || id || ': its times must be in the years 1 to 9999' FROM keys
          WHERE ${isImpossibleTime("created_at_ms")} OR ${isImpossibleTime("expires_at_ms")} OR ${isImpossibleTime("revoked_at_ms")}
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
  // The oldest changes may have been deleted, with their marks. The newest one never is. A link to a deleted change leads
  // below the oldest one that is left.
  {
    subject: "the pets' stock",
    since: stockSince,
    sql: `SELECT 'pet ' || id || ': it has no stock' AS fault FROM pets
          WHERE id NOT IN (SELECT pet_id FROM stock)
          UNION ALL
          SELECT 'pet ' || pet_id || ': it has stock, but there is no such pet' FROM stock
          WHERE pet_id NOT IN (SELECT id FROM pets)
          UNION ALL
          SELECT 'pet ' || pet_id || ': its stock must have a revision if it has changes, and only then' FROM current_stock
          WHERE NOT (revision >= changes AND changes >= 0 AND (revision = 0) = (changes = 0))
          UNION ALL
          SELECT 'pet ' || pet_id || ': its stock says that ' || held || ' are held, and its holds say ' || sum
          FROM (SELECT pet_id, held,
                  ifnull((SELECT sum(quantity) FROM holds WHERE holds.pet_id = stock.pet_id AND state = 'held'), 0) AS sum
                FROM stock)
          WHERE held <> sum`,
  },
  {
    subject: "the history",
    since: stockSince,
    sql: `SELECT 'the history has no lineage of twelve hexadecimal digits' AS fault
          WHERE NOT EXISTS (SELECT 1 FROM history WHERE length(lineage) = 12 AND lineage NOT GLOB '*[^0-9a-f]*')
          UNION ALL
          SELECT 'the history has gaps between its changes ' || min(revision) || ' and ' || max(revision) FROM changes
          HAVING count(*) <> max(revision) - min(revision) + 1
          UNION ALL
          SELECT 'the history begins with change ' || min(revision) || ', and must begin with 1 at least' FROM changes
          HAVING min(revision) < 1`,
  },
  {
    subject: "the changes that the stock lacks",
    since: currentStockSince,
    sql: `SELECT 'the stock cannot have all changes up to ' || applied_revision AS fault FROM history
          WHERE applied_revision NOT BETWEEN (SELECT ifnull(min(revision), 1) FROM changes) - 1
            AND (SELECT ifnull(max(revision), 0) FROM changes)
          UNION ALL
          SELECT 'change ' || revision || ': it must have a number, because the stock may lack it' FROM changes
          WHERE revision > (SELECT applied_revision FROM history) AND number < 1
          UNION ALL
          SELECT 'change ' || revision || ': its number is ' || number || ', and it is the pet''s ' || place FROM (
            SELECT changes.revision, number,
              stock.changes + 1 - row_number() OVER (PARTITION BY pet_id ORDER BY changes.revision DESC) AS place
            FROM changes JOIN current_stock AS stock USING (pet_id))
          WHERE number NOT IN (0, place)`,
  },
  {
    subject: "the changes",
    since: stockSince,
    // Each change beside the pet's change before it, and numbered from the pet's last one on.
    sql: `WITH linked AS (
            SELECT revision, pet_id, previous, before, after,
              row_number() OVER pet AS place, lead(revision) OVER pet AS former, lead(after) OVER pet AS former_after
            FROM changes WINDOW pet AS (PARTITION BY pet_id ORDER BY revision DESC)
          )
          SELECT 'change ' || linked.revision || ': ' || CASE
              WHEN stock.pet_id IS NULL THEN 'there is no such pet'
              WHEN place = 1 AND stock.revision <> linked.revision
                THEN 'the stock names another change as the last of the pet'
              WHEN place = 1 AND stock.quantity <> after
                THEN 'it is the last of the pet, but the stock has another quantity'
              WHEN former IS NULL AND previous >= (SELECT min(revision) FROM changes)
                THEN 'the previous change that it names does not exist'
              WHEN former IS NOT NULL AND previous <> former THEN 'it does not name the change of the pet before it'
              WHEN former IS NOT NULL AND before IS NOT former_after
                THEN 'it does not begin with the quantity that the previous change has left'
              ELSE 'it must have a mark if it is the ${changesPerMark}th of the pet, and only then'
            END AS fault
          FROM linked LEFT JOIN current_stock AS stock ON stock.pet_id = linked.pet_id
          WHERE stock.pet_id IS NULL
            OR (place = 1 AND (stock.revision <> linked.revision OR stock.quantity <> after))
            OR (former IS NULL AND previous >= (SELECT min(revision) FROM changes))
            OR (former IS NOT NULL AND (previous <> former OR before IS NOT former_after))
            OR ((stock.changes - place + 1) % ${changesPerMark} = 0) <> EXISTS (
              SELECT 1 FROM change_marks AS mark
              WHERE mark.pet_id = linked.pet_id AND mark.revision = linked.revision)`,
  },
  {
    subject: "the links into the history",
    since: stockSince,
    sql: `SELECT 'pet ' || pet_id || ': its last change, ' || revision || ', is not in the history' AS fault FROM current_stock
          WHERE revision >= (SELECT ifnull(min(revision), 1) FROM changes)
            AND revision NOT IN (SELECT revision FROM changes)
          UNION ALL
          SELECT 'pet ' || pet_id || ': it has a mark of change ' || revision || ', but there is no such change of it'
          FROM change_marks AS mark
          WHERE NOT EXISTS (SELECT 1 FROM changes WHERE revision = mark.revision AND pet_id = mark.pet_id)`,
  },
  {
    subject: "the holds",
    since: stockSince,
    sql: `SELECT 'hold ' || id || ': there is no such pet' AS fault FROM holds
          WHERE pet_id NOT IN (SELECT pet_id FROM stock)
          UNION ALL
          SELECT 'hold ' || id || ': it must expire after it was made' FROM holds WHERE expires_at_ms <= created_at_ms`,
  },
  {
    subject: "the idempotency records",
    since: stockSince,
    sql: `SELECT 'idempotency key ' || idempotency_key || ' of ' || key_id || ': it must have a fingerprint and a result'
            AS fault
          FROM idempotency_records
          WHERE length(fingerprint) <> 32 OR NOT json_valid(result)`,
  },
  {
    subject: "the webhooks",
    since: webhooksSince,
    sql: `WITH head (head) AS (SELECT ifnull(max(revision), 0) FROM changes)
          SELECT 'webhook ' || id || ': its position, ' || position || ', is outside the history, which ends with ' || head
            AS fault
          FROM webhooks, head WHERE position NOT BETWEEN 0 AND head
          UNION ALL
          SELECT 'webhook ' || id || ': its delivery must end after its position, with a change that exists'
          FROM webhooks, head WHERE delivering_up_to <= position OR delivering_up_to > head
          UNION ALL
          SELECT 'webhook ' || id || ': it must have failures, their beginning and a next attempt, or none of the three'
          FROM webhooks
          WHERE failures < 0 OR (failures = 0) <> (failing_since_ms IS NULL)
            OR (failures = 0) <> (next_attempt_at_ms IS NULL)
          UNION ALL
          SELECT 'webhook ' || id || ': its pets must be a list of texts' FROM webhooks
          WHERE NOT ${isListOfTexts("pet_ids")}`,
  },
  {
    subject: "the attempts of webhooks",
    since: webhooksSince,
    sql: `SELECT 'webhook ' || webhook_id || ': it has ' || count(*) || ' attempts, and ${keptAttempts} are kept' AS fault
          FROM webhook_attempts GROUP BY webhook_id HAVING count(*) > ${keptAttempts}`,
  },
];

/** Whether a column has a JSON list of texts. The JSON functions throw for invalid JSON, so `json_valid` comes first. */
function isListOfTexts(column: string): string {
  return `CASE WHEN json_valid(${column})
            THEN json_type(${column}) = 'array' AND NOT EXISTS (SELECT 1 FROM json_each(${column}) WHERE type <> 'text')
            ELSE false END`;
}

/** Whether a time is outside of the years that a timestamp may have. NULL is inside. */
function isImpossibleTime(column: string): string {
  return `ifnull(${column} NOT BETWEEN ${minTimestampMs} AND ${maxTimestampMs}, false)`;
}

function isWindow(name: string): string {
  return `(${name}_opened_at_ms IS NULL) = (${name}_count IS NULL) AND ifnull(${name}_count >= 1, true)`;
}
