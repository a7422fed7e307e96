import { petNotFound } from "../../domain/errors.ts";
import type { ChangeKind, ChangePage, ChangeQuery, HistoryBounds, StockChange } from "../../domain/history.ts";
import { idempotencyMs } from "../../domain/idempotency.ts";
import { maxInt64, minInt64 } from "../../domain/ranges.ts";
import { type Connection, housekeepingLock, type Queryable } from "./connection/connection.ts";
import { lockHead } from "./writer/round-trips.ts";

interface ChangeRow {
  readonly revision: bigint;
  readonly pet_id: bigint;
  readonly before: bigint | null;
  readonly after: bigint;
  readonly kind: ChangeKind;
  readonly reason: string | null;
  readonly reference: string | null;
  readonly key_id: string | null;
  readonly request_id: string | null;
  readonly occurred_at_ms: bigint;
}

const columns = "revision, pet_id, before, after, kind, reason, reference, key_id, request_id, occurred_at_ms";

/** Converts a time bound, which may be infinite, to whole milliseconds. */
function firstKeptMs(keptSinceMs: number): bigint {
  if (!Number.isFinite(keptSinceMs)) {
    return keptSinceMs > 0 ? maxInt64 : minInt64;
  }
  return BigInt(Math.ceil(keptSinceMs));
}

/**
 * How far the history goes. Changes before `keptSinceMs` are no longer part of it. The first change that was made at
 * this time or after it is found in growing steps from the oldest change on, and then by bisection. If clocks were set
 * back, changes may not be in the order of time: the result is then one of several such changes.
 */
export async function historyBounds(connection: Queryable, keptSinceMs: number): Promise<HistoryBounds> {
  const [row] = await connection.query<HistoryBounds>(
    `WITH RECURSIVE search (low, high, width) AS (
       SELECT coalesce((SELECT min(changes.revision) FROM changes), 1), head.revision + 1, 0::bigint FROM head
       UNION ALL
       SELECT CASE WHEN is_before THEN probe + 1 ELSE low END, CASE WHEN is_before THEN high ELSE probe END,
         CASE WHEN is_before THEN 2 * (probe - low) + 1 ELSE width END
       FROM (SELECT low, high, width, least(low + width, (low + high) / 2) AS probe FROM search WHERE low < high) AS next
       CROSS JOIN LATERAL (
         SELECT coalesce((SELECT occurred_at_ms FROM changes WHERE revision = probe) < $1, true) AS is_before
       ) AS judged
     )
     SELECT lineage, revision AS head, (SELECT low FROM search WHERE low >= high) AS oldest FROM head`,
    firstKeptMs(keptSinceMs),
  );
  return row as HistoryBounds;
}

/** How many changes one search reads at most: a few milliseconds' work. It returns what it has found by then. */
const maxSearched = 10_000;

/** Throws `PET_NOT_FOUND`. */
export async function listChanges(connection: Queryable, query: ChangeQuery): Promise<ChangePage> {
  const petIds = [...new Set(query.petIds)];
  const [unknownPet, { changes, reached }] = await Promise.all([
    findUnknownPet(connection, petIds),
    search(connection, query, petIds),
  ]);
  if (unknownPet !== undefined) {
    throw petNotFound(unknownPet);
  }
  return { changes, searchedTo: changes.length === query.limit ? changes.at(-1)?.revision : reached };
}

/** Returns the first of the pets that does not exist. */
async function findUnknownPet(connection: Queryable, petIds: readonly bigint[]): Promise<bigint | undefined> {
  if (petIds.length === 0) {
    return undefined;
  }
  const [unknown] = await connection.query<{ id: bigint }>(
    `SELECT id FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (id, place)
     WHERE NOT EXISTS (SELECT 1 FROM stock WHERE pet_id = id) ORDER BY place LIMIT 1`,
    petIds,
  );
  return unknown?.id;
}

/** How far a search has come. Each row also has one of the changes that were found, if there are any. */
interface SearchRow {
  /** The last revision that was searched; null where the history was searched to its end. */
  readonly reached: bigint | null;
}

interface Search {
  readonly changes: readonly StockChange[];
  /** The last revision that was searched; undefined where the history was searched to its end. */
  readonly reached: bigint | undefined;
}

/**
 * Reads the next changes, and returns those that match. It reads as many changes of each pet as it searches in all, so
 * that the first changes of all pets are among them. One change more than it searches tells whether that was the end.
 */
async function search(
  connection: Queryable,
  { after, before = maxInt64, crossing, newestFirst, limit }: ChangeQuery,
  petIds: readonly bigint[],
): Promise<Search> {
  const order = newestFirst ? "DESC" : "ASC";
  const mostOfEach = Math.max(1, Math.floor(maxSearched / Math.max(1, petIds.length)));
  const most = crossing === undefined ? Math.min(limit, mostOfEach) : mostOfEach;
  const next = `SELECT ${columns} FROM changes WHERE revision > $1 AND revision < $2
    ORDER BY revision ${order} LIMIT $3`;
  // Only the index of a pet's changes has this order: with another one, PostgreSQL may go through those of all pets.
  const nextOfPets = `SELECT each.* FROM unnest($6::bigint[]) AS pet (wanted) CROSS JOIN LATERAL (
      SELECT ${columns} FROM changes WHERE (pet_id, revision) > (wanted, $1) AND (pet_id, revision) < (wanted, $2)
      ORDER BY pet_id ${order}, revision ${order} LIMIT $3
    ) AS each ORDER BY revision ${order} LIMIT $3`;
  const rows = await connection.query<SearchRow & Partial<ChangeRow>>(
    `WITH ahead AS MATERIALIZED (${petIds.length === 0 ? next : nextOfPets}),
       next AS MATERIALIZED (SELECT * FROM ahead ORDER BY revision ${order} LIMIT $3 - 1)
     SELECT * FROM (
       SELECT CASE WHEN (SELECT count(*) FROM ahead) = $3 THEN ${newestFirst ? "min" : "max"}(revision) END AS reached
       FROM next
     ) AS search
     LEFT JOIN LATERAL (
       SELECT * FROM next WHERE $4::bigint IS NULL OR (before > $4 AND after <= $4) ORDER BY revision ${order} LIMIT $5
     ) AS found ON true
     ORDER BY revision ${order}`,
    after,
    before,
    BigInt(most + 1),
    crossing ?? null,
    BigInt(limit),
    ...(petIds.length === 0 ? [] : [petIds]),
  );
  return {
    changes: rows.filter(isFound).map(changeFromRow),
    reached: rows[0]?.reached ?? undefined,
  };
}

/** Where nothing was found, the one row has no change. */
function isFound(row: SearchRow & Partial<ChangeRow>): row is SearchRow & ChangeRow {
  return row.revision !== null;
}

function changeFromRow(row: ChangeRow): StockChange {
  return {
    revision: row.revision,
    petId: row.pet_id,
    before: row.before ?? undefined,
    after: row.after,
    kind: row.kind,
    reason: row.reason ?? undefined,
    reference: row.reference ?? undefined,
    keyId: row.key_id ?? undefined,
    requestId: row.request_id ?? undefined,
    occurredAtMs: Number(row.occurred_at_ms),
  };
}

/** The most rows of a kind that one step deletes: twice what a batch may write. */
const rowsPerStep = 2_000n;

/** Whether `deleteOutdated` has anything to do. Only the oldest rows are compared, which the indexes have first. */
export async function hasOutdated(connection: Queryable, keptSinceMs: number, nowMs: number): Promise<boolean> {
  const [row] = await connection.query<{ found: boolean | null }>(
    `SELECT (SELECT min(expires_at_ms) FROM holds WHERE state = 'held') <= $1
       OR (SELECT min(ended_at_ms) FROM holds WHERE ended_at_ms IS NOT NULL) < $2
       OR (SELECT min(created_at_ms) FROM idempotency_records) <= $3 AS found`,
    BigInt(nowMs),
    firstKeptMs(keptSinceMs),
    BigInt(nowMs - idempotencyMs),
  );
  return row?.found === true || (await lastOutdated(connection, keptSinceMs, nowMs)) !== undefined;
}

/**
 * See `StockStore.deleteOutdated`. It also stores holds that are over as expired, so that they are deleted when it is
 * time. To be called in a transaction. Resolves to whether it has deleted: then there may be more.
 */
export async function deleteOutdated(connection: Connection, keptSinceMs: number, nowMs: number): Promise<boolean> {
  const [lock] = await connection.query<{ taken: boolean }>(
    `SELECT pg_try_advisory_xact_lock($1) AS taken`,
    housekeepingLock,
  );
  if (lock?.taken !== true) {
    // Another server deletes at present. If all servers did, the writers would always wait for one of them.
    return false;
  }
  await lockHead(connection);
  await noteExpired(connection, nowMs);
  await connection.query(
    `DELETE FROM holds WHERE position IN (SELECT position FROM holds WHERE ended_at_ms < $1 ORDER BY ended_at_ms LIMIT $2)`,
    firstKeptMs(keptSinceMs),
    rowsPerStep,
  );
  await connection.query(
    `DELETE FROM idempotency_records WHERE (key_id, idempotency_key) IN (
       SELECT key_id, idempotency_key FROM idempotency_records WHERE created_at_ms <= $1 ORDER BY created_at_ms LIMIT $2)`,
    BigInt(nowMs - idempotencyMs),
    rowsPerStep,
  );
  await connection.query(
    `DELETE FROM changes WHERE revision <= $1`,
    (await lastOutdated(connection, keptSinceMs, nowMs)) ?? 0n,
  );
  return true;
}

async function noteExpired(connection: Queryable, nowMs: number): Promise<void> {
  await connection.query(
    `WITH noted AS (
       UPDATE holds SET state = 'expired', ended_at_ms = expires_at_ms
       WHERE position IN (
         SELECT position FROM holds WHERE state = 'held' AND expires_at_ms <= $1 ORDER BY expires_at_ms LIMIT $2)
       RETURNING pet_id, quantity
     )
     UPDATE stock SET held = held - sum
     FROM (SELECT pet_id, sum(quantity)::bigint AS sum FROM noted GROUP BY pet_id) AS over
     WHERE stock.pet_id = over.pet_id`,
    BigInt(nowMs),
    rowsPerStep,
  );
}

/** The last of the changes that the next step deletes: see the same function for a file. */
async function lastOutdated(connection: Queryable, keptSinceMs: number, nowMs: number): Promise<bigint | undefined> {
  const [row] = await connection.query<{ last: bigint }>(
    `WITH RECURSIVE step AS (
       SELECT oldest, least(oldest + $3, head) AS "end", head
       FROM (SELECT (SELECT min(changes.revision) FROM changes) AS oldest, head.revision AS head FROM head) AS kept
     ), search (low, high, width) AS (
       SELECT "end", head, 0::bigint FROM step
       WHERE NOT EXISTS (SELECT 1 FROM changes WHERE revision < "end" AND occurred_at_ms <= $2)
       UNION ALL
       SELECT CASE WHEN is_ahead THEN probe + 1 ELSE low END, CASE WHEN is_ahead THEN high ELSE probe END,
         CASE WHEN is_ahead THEN 2 * (probe - low) + 1 ELSE width END
       FROM (SELECT low, high, width, least(low + width, (low + high) / 2) AS probe FROM search WHERE low < high) AS next
       CROSS JOIN LATERAL (SELECT occurred_at_ms > $2 AS is_ahead FROM changes WHERE revision = probe) AS judged
     ), telling AS MATERIALIZED (
       SELECT start, least(start + $3, head) AS "end"
       FROM (SELECT coalesce((SELECT low FROM search WHERE low >= high), oldest) AS start, head FROM step) AS found
     ), kept AS (
       SELECT min(revision) AS first FROM changes
       WHERE revision >= (SELECT start FROM telling) AND revision < (SELECT "end" FROM telling)
         AND occurred_at_ms BETWEEN $1 AND $2
     )
     SELECT least(revision, (SELECT "end" - 1 FROM step)) AS last FROM changes
     WHERE occurred_at_ms < $1 AND revision >= (SELECT start FROM telling)
       AND revision < coalesce((SELECT first FROM kept), (SELECT "end" FROM telling))
     ORDER BY revision DESC LIMIT 1`,
    firstKeptMs(keptSinceMs),
    BigInt(nowMs),
    rowsPerStep,
  );
  return row?.last;
}
