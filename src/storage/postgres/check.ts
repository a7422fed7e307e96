import { scopes } from "../../domain/key.ts";
import { lastBanStep } from "../../domain/limits.ts";
import { maxTimestampMs, minTimestampMs } from "../../domain/ranges.ts";
import type { ReportProgress } from "../../domain/store.ts";
import { keptAttempts } from "../../domain/webhook.ts";
import type { Connection } from "./connection/connection.ts";
import { DatabaseError, parseDatabaseUrl } from "./connection/database-url.ts";
import { identify, withConnection } from "./database.ts";
import { webhookClaimMs } from "./webhooks.ts";

/** The most faults of one kind that are reported. */
const maxFaults = 100;

/**
 * Looks for faults in a store: for rows that break a rule that the service relies on. Returns a line for each fault,
 * and changes nothing. All rules see the same snapshot, whatever others write. PostgreSQL's `pg_amcheck` verifies the
 * pages. Throws `DatabaseError` when the database cannot be read as a store at all.
 */
export function checkDatabase(url: string, report?: ReportProgress): Promise<string[]> {
  const address = parseDatabaseUrl(url);
  return withConnection(address, async (connection) => {
    if ((await identify(connection, address)) === 0) {
      throw new DatabaseError(`${address.shown}: empty, and no store yet`);
    }
    return connection.transaction(
      () => findFaults(connection, report),
      "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    );
  });
}

async function findFaults(connection: Connection, report?: ReportProgress): Promise<string[]> {
  const faults: string[] = [];
  for (const [done, sql] of invariants.entries()) {
    report?.(done, invariants.length);
    const rows = await connection.query<{ fault: string }>(`${sql} LIMIT ${maxFaults}`);
    faults.push(...rows.map(({ fault }) => fault));
  }
  report?.(invariants.length, invariants.length);
  return faults;
}

/**
 * The rules that the service relies on, and the schema cannot express. Each statement selects a `fault` for each row
 * that breaks its rule.
 */
const invariants: readonly string[] = [
  `SELECT 'order ' || id || ': its shipDate must be in the years 1 to 9999' AS fault FROM orders
   WHERE ${isImpossibleTime("ship_date_ms")}`,

  `SELECT 'key ' || id || ': it has an unknown scope, or its scopes are no list' AS fault FROM keys
   WHERE NOT scopes <@ ARRAY[${scopes.map((scope) => `'${scope}'`).join(", ")}]
   UNION ALL
   SELECT 'key ' || id || ': its limits must be 1 at least' FROM keys WHERE least(per_minute, per_day) < 1
   UNION ALL
   SELECT 'key ' || id || ': its times must be in the years 1 to 9999' FROM keys
   WHERE ${isImpossibleTime("created_at_ms")} OR ${isImpossibleTime("expires_at_ms")} OR ${isImpossibleTime("revoked_at_ms")}
   UNION ALL
   SELECT 'key ' || id || ': it has no secret' FROM keys
   WHERE NOT EXISTS (SELECT 1 FROM secrets WHERE key_id = keys.id)
   UNION ALL
   SELECT 'key ' || key_id || ': the hash of a secret must have 32 bytes' FROM secrets WHERE length(hash) <> 32`,

  `SELECT 'key ' || key_id || ': a window must have a beginning and a count from 1 on, or neither' AS fault FROM usage
   WHERE NOT (${isWindow("minute")} AND ${isWindow("day")} AND ${isWindow("refusals")})
   UNION ALL
   SELECT 'key ' || key_id || ': a ban must have an end and a step from 1 to ${lastBanStep}, or neither' FROM usage
   WHERE (ban_step IS NULL) <> (ban_ends_at_ms IS NULL) OR ban_step NOT BETWEEN 1 AND ${lastBanStep}
   UNION ALL
   SELECT 'key ' || key_id || ': its counters know of more unbans than the key' FROM usage
   JOIN keys ON keys.id = usage.key_id WHERE usage.unbans > keys.unbans`,

  `SELECT 'pet ' || id || ': it has no stock' AS fault FROM pets
   WHERE NOT EXISTS (SELECT 1 FROM stock WHERE pet_id = id)
   UNION ALL
   SELECT 'pet ' || pet_id || ': it has stock, but there is no such pet' FROM stock
   WHERE NOT EXISTS (SELECT 1 FROM pets WHERE id = pet_id)
   UNION ALL
   SELECT 'pet ' || stock.pet_id || ': its stock says that ' || held || ' are held, and its holds say ' || coalesce(sum, 0)
   FROM stock LEFT JOIN (SELECT pet_id, sum(quantity) AS sum FROM holds WHERE state = 'held' GROUP BY pet_id) AS open
     ON open.pet_id = stock.pet_id
   WHERE held <> coalesce(sum, 0)`,

  `SELECT 'the history has no lineage of twelve hexadecimal digits' AS fault
   WHERE NOT EXISTS (SELECT 1 FROM head WHERE lineage ~ '^[0-9a-f]{12}$')
   UNION ALL
   SELECT 'the history has gaps between its changes ' || min(revision) || ' and ' || max(revision) FROM changes
   HAVING count(*) <> max(revision) - min(revision) + 1
   UNION ALL
   SELECT 'the history begins with change ' || min(revision) || ', and must begin with 1 at least' FROM changes
   HAVING min(revision) < 1
   UNION ALL
   SELECT 'the history ends with change ' || coalesce(max(changes.revision), 0) || ', and the head says ' || head.revision
   FROM head LEFT JOIN changes ON true GROUP BY head.revision
   HAVING head.revision <> coalesce(max(changes.revision), 0)`,

  // Each change beside the pet's change before it.
  `SELECT 'change ' || linked.revision || ': ' || CASE
     WHEN stock.pet_id IS NULL THEN 'there is no such pet'
     WHEN is_last AND stock.revision <> linked.revision THEN 'the stock names another change as the last of the pet'
     WHEN is_last AND stock.quantity <> after THEN 'it is the last of the pet, but the stock has another quantity'
     ELSE 'it does not begin with the quantity that the previous change has left'
   END AS fault
   FROM (
     SELECT revision, pet_id, before, after, lead(revision) OVER pet IS NULL AS is_last,
       lag(revision) OVER pet IS NOT NULL AS has_former, lag(after) OVER pet AS former
     FROM changes WINDOW pet AS (PARTITION BY pet_id ORDER BY revision)
   ) AS linked LEFT JOIN stock ON stock.pet_id = linked.pet_id
   WHERE stock.pet_id IS NULL OR (is_last AND (stock.revision <> linked.revision OR stock.quantity <> after))
     OR (has_former AND before IS DISTINCT FROM former)`,

  `SELECT 'pet ' || pet_id || ': its last change, ' || revision || ', is not in the history' AS fault FROM stock
   WHERE revision >= (SELECT coalesce(min(revision), 1) FROM changes)
     AND NOT EXISTS (SELECT 1 FROM changes WHERE changes.revision = stock.revision)`,

  `SELECT 'hold ' || id || ': there is no such pet' AS fault FROM holds
   WHERE NOT EXISTS (SELECT 1 FROM stock WHERE stock.pet_id = holds.pet_id)
   UNION ALL
   SELECT 'hold ' || id || ': it must expire after it was made' FROM holds WHERE expires_at_ms <= created_at_ms`,

  `SELECT 'idempotency key ' || idempotency_key || ' of ' || key_id || ': it must have a fingerprint' AS fault
   FROM idempotency_records WHERE length(fingerprint) <> 32`,

  `SELECT 'webhook ' || id || ': its position, ' || position || ', is outside the history, which ends with '
     || head.revision AS fault
   FROM webhooks, head WHERE position NOT BETWEEN 0 AND head.revision
   UNION ALL
   SELECT 'webhook ' || id || ': its delivery must end after its position, with a change that exists'
   FROM webhooks, head WHERE delivering_up_to <= position OR delivering_up_to > head.revision
   UNION ALL
   SELECT 'webhook ' || id || ': it must have failures, their beginning and a next attempt, or none of the three' FROM webhooks
   WHERE failures < 0 OR (failures = 0) <> (failing_since_ms IS NULL) OR (failures = 0) <> (next_attempt_at_ms IS NULL)
   UNION ALL
   SELECT 'webhook ' || id || ': its claim lasts longer than a claim may' FROM webhooks
   WHERE claimed_until > clock_timestamp() + ${webhookClaimMs} * interval '1 millisecond'`,

  `SELECT 'webhook ' || webhook_id || ': it has ' || count(*) || ' attempts, and ${keptAttempts} are kept' AS fault
   FROM webhook_attempts GROUP BY webhook_id HAVING count(*) > ${keptAttempts}`,
];

/** Whether a time is outside of the years that a timestamp may have. NULL is inside. */
function isImpossibleTime(column: string): string {
  return `coalesce(${column} NOT BETWEEN ${minTimestampMs} AND ${maxTimestampMs}, false)`;
}

function isWindow(name: string): string {
  return `(${name}_opened_at_ms IS NULL) = (${name}_count IS NULL) AND coalesce(${name}_count >= 1, true)`;
}
