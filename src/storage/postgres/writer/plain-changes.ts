import { maxInt64, minInt64 } from "../../../domain/ranges.ts";
import { dependsOnHolds, type StockCommand } from "../../../domain/stock.ts";
import { type ChangeCount, changesChannel } from "../change-tokens.ts";
import type { Queryable } from "../connection/connection.ts";
import { type StockRow, stockFromRow } from "./round-trips.ts";
import type { StockWriteTask } from "./stock-writes.ts";
import { type Head, WorkingSet } from "./working-set.ts";

/** Where a group of plain changes expects the head. */
interface ExpectedHead {
  readonly head: Head;
  /** Whether that is where the statement before leaves it, which is still under way over the same connection. */
  readonly isAhead: boolean;
}

/** A write that is one change of stock, and names neither a version nor an idempotency key. */
type PlainTask = StockWriteTask<unknown> & { readonly plain: StockCommand };

/** Plain changes that are written together. */
interface PlainGroup {
  readonly tasks: readonly PlainTask[];
  /** When they happen. */
  readonly nowMs: number;
}

/** Whether all writes of a group are plain, and of different pets. */
export function isPlainGroup(tasks: readonly StockWriteTask<unknown>[]): tasks is readonly PlainTask[] {
  return (
    tasks.every(({ plain }) => plain !== undefined) &&
    new Set(tasks.map(({ plain }) => plain?.petId)).size === tasks.length
  );
}

/**
 * Writes a group of plain changes and commits it, in one round trip. Returns the rows as they were before: from these,
 * the writes then work out their results. Returns undefined, and has written nothing, where the head is no longer
 * `head`, or where a change might be refused: there is no such pet, the stock would leave its range, or a pet with
 * holds loses stock.
 */
export async function writePlainChanges(
  connection: Queryable,
  { tasks, nowMs }: PlainGroup,
  { head, isAhead }: ExpectedHead,
  { writer, notifies }: ChangeCount,
): Promise<WorkingSet | undefined> {
  const commands = tasks.map(({ plain }) => plain);
  const contexts = tasks.map(({ context }) => context);
  const rows = await connection.query<StockRow>(
    statement,
    commands.map(({ petId }) => petId),
    commands.map(({ kind }) => kind),
    commands.map((command) => (command.kind === "set" ? command.quantity : command.delta)),
    commands.map((command) => (dependsOnHolds(command) ? 0n : minInt64)),
    commands.map(({ reason }) => reason ?? null),
    commands.map(({ reference }) => reference ?? null),
    contexts.map(({ keyId }) => keyId),
    contexts.map(({ requestId }) => requestId),
    nowMs,
    tasks.length,
    head.revision,
    head.holdPosition,
    head.lineage,
    writer,
    notifies,
    isAhead,
  );
  if (rows.length === 0) {
    return undefined;
  }
  const none = { holds: [], overdue: new Map(), records: new Map() };
  return new WorkingSet({ nowMs, head, stocks: rows.map(stockFromRow), ...none });
}

/*
 * All parts see the same snapshot. Each part that writes depends on `advanced`, so the head is locked first. If another
 * transaction has moved the head since the snapshot, nothing is written: after it has waited for a row's lock,
 * PostgreSQL checks the condition again on the changed row. Every transaction that changes a quantity or adds a hold
 * moves the head. A transaction that only ends holds changes only `held`, which `written` does not touch.
 *
 * The setting `petstore.head` of the session is where its last statement of this kind has left the head. A statement
 * that was sent before the last one was answered compares it. Otherwise, if the connection were lost and another
 * transaction moved the head to the same place, the statement could still run after it, though its caller was told that
 * it failed.
 *
 * Source: https://www.postgresql.org/docs/15/transaction-iso.html#XACT-READ-COMMITTED
 */
const statement = `
  WITH asked AS (
    SELECT place, asked.pet_id, kind, reason, reference, key_id, request_id,
      stock.quantity AS before, CASE kind WHEN 'set' THEN amount ELSE stock.quantity + amount END AS after,
      stock.revision, stock.held, stock.status
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[])
      WITH ORDINALITY AS asked (pet_id, kind, amount, least, reason, reference, key_id, request_id, place)
      JOIN stock ON stock.pet_id = asked.pet_id
    WHERE kind = 'set'
      OR ((stock.held = 0 OR least < 0) AND stock.quantity::numeric + amount BETWEEN least AND ${maxInt64})
  ), advanced AS (
    UPDATE head SET revision = revision + $10
    WHERE revision = $11 AND hold_position = $12 AND lineage = $13 AND (SELECT count(*) FROM asked) = $10
      AND (NOT $16 OR current_setting('petstore.head', true) = lineage || ' ' || revision)
    RETURNING revision - $10 AS former, set_config('petstore.head', lineage || ' ' || revision, false)
  ), written AS (
    UPDATE stock SET quantity = after, revision = former + place
    FROM advanced CROSS JOIN asked
    WHERE stock.pet_id = asked.pet_id
  ), noted AS (
    INSERT INTO changes
      (revision, pet_id, before, after, kind, reason, reference, key_id, request_id, occurred_at_ms)
    SELECT former + place, pet_id, before, after, kind, reason, reference, key_id, request_id, $9::bigint
    FROM advanced CROSS JOIN asked
  ), counted AS (
    INSERT INTO change_counts AS known (writer, topic, count) SELECT $14, 'stock', $10 FROM advanced
    ON CONFLICT (writer, topic) DO UPDATE SET count = known.count + excluded.count
    RETURNING CASE WHEN $15 THEN pg_notify('${changesChannel}', writer) IS NULL END
  )
  SELECT pet_id, before AS quantity, revision, held, status FROM advanced CROSS JOIN asked`;
