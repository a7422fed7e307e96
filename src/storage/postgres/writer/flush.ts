import { revisionOf } from "../../stored-stock.ts";
import { countChanges } from "../change-counts.ts";
import type { Connection, Queryable } from "../connection/connection.ts";
import type { WorkingSet } from "./working-set.ts";

/** Whether a group has anything to write. */
export function isDirty(set: WorkingSet): boolean {
  return set.changedPets.size + set.newHolds.length + set.holdEnds.length + set.newRecords.size > 0;
}

/**
 * Writes what the writes of a group have left, and commits, in one round trip: each statement works on a whole set of
 * rows. `writer` is whose changes these are.
 */
export async function flush(connection: Connection, set: WorkingSet, writer: string): Promise<void> {
  const statements = [
    writeChanges(connection, set),
    writeNewHolds(connection, set),
    writeHoldEnds(connection, set),
    writeRest(connection, set),
    writeStocks(connection, set),
    writeHead(connection, set),
    writeRecords(connection, set),
    countStockChanges(connection, set, writer),
    connection.commit(),
  ];
  // After a failed statement the others fail, too, and tell less.
  await settleInOrder(statements);
}

/** Rejects with the first failure, once all are settled. */
async function settleInOrder(work: readonly Promise<unknown>[]): Promise<void> {
  const failure = (await Promise.allSettled(work)).find(({ status }) => status === "rejected");
  if (failure?.status === "rejected") {
    throw failure.reason;
  }
}

async function writeChanges(connection: Queryable, { changes }: WorkingSet): Promise<void> {
  if (changes.length > 0) {
    await connection.query(
      `INSERT INTO changes
         (revision, pet_id, before, after, kind, reason, reference, key_id, request_id, occurred_at_ms)
       SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[],
         $8::text[], $9::text[], $10::bigint[])`,
      changes.map(({ revision }) => revision),
      changes.map(({ petId }) => petId),
      changes.map(({ before }) => before ?? null),
      changes.map(({ after }) => after),
      changes.map(({ kind }) => kind),
      changes.map(({ reason }) => reason ?? null),
      changes.map(({ reference }) => reference ?? null),
      changes.map(({ keyId }) => keyId ?? null),
      changes.map(({ requestId }) => requestId ?? null),
      changes.map(({ occurredAtMs }) => BigInt(occurredAtMs)),
    );
  }
}

async function countStockChanges(connection: Queryable, { changes }: WorkingSet, writer: string): Promise<void> {
  if (changes.length > 0) {
    await countChanges(connection, writer, "stock", changes.length);
  }
}

async function writeStocks(connection: Queryable, set: WorkingSet): Promise<void> {
  const stocks = [...set.changedPets].flatMap((petId) => set.stockOf(petId) ?? []);
  if (stocks.length > 0) {
    await connection.query(
      `UPDATE stock SET quantity = written.quantity, revision = written.revision, held = written.held
       FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS written (pet_id, quantity, revision, held)
       WHERE stock.pet_id = written.pet_id`,
      stocks.map(({ petId }) => petId),
      stocks.map(({ quantity }) => quantity),
      stocks.map(({ version }) => revisionOf(version)),
      stocks.map(({ held }) => held),
    );
  }
}

async function writeHead(connection: Queryable, { head, changes, newHolds }: WorkingSet): Promise<void> {
  if (changes.length + newHolds.length > 0) {
    await connection.query(`UPDATE head SET revision = $1, hold_position = $2`, head.revision, head.holdPosition);
  }
}

async function writeNewHolds(connection: Queryable, { newHolds }: WorkingSet): Promise<void> {
  if (newHolds.length > 0) {
    await connection.query(
      `INSERT INTO holds (position, id, pet_id, quantity, reference, state, created_at_ms, expires_at_ms, key_id)
       SELECT position, id, pet_id, quantity, reference, 'held', created_at_ms, expires_at_ms, key_id
       FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[],
         $8::text[]) AS new (position, id, pet_id, quantity, reference, created_at_ms, expires_at_ms, key_id)`,
      newHolds.map(({ position }) => position),
      newHolds.map(({ id }) => id),
      newHolds.map(({ petId }) => petId),
      newHolds.map(({ quantity }) => quantity),
      newHolds.map(({ reference }) => reference ?? null),
      newHolds.map(({ createdAtMs }) => BigInt(createdAtMs)),
      newHolds.map(({ expiresAtMs }) => BigInt(expiresAtMs)),
      newHolds.map(({ keyId }) => keyId),
    );
  }
}

async function writeHoldEnds(connection: Queryable, { holdEnds }: WorkingSet): Promise<void> {
  if (holdEnds.length > 0) {
    await connection.query(
      `UPDATE holds SET state = ended.state, ended_at_ms = ended.at_ms
       FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS ended (position, state, at_ms)
       WHERE holds.position = ended.position`,
      holdEnds.map(({ position }) => position),
      holdEnds.map(({ state }) => state),
      holdEnds.map(({ endedAtMs }) => BigInt(endedAtMs)),
    );
  }
}

/** Notes the overdue holds that were too many to be read. */
async function writeRest(connection: Queryable, set: WorkingSet): Promise<void> {
  const { noteAllOf, nowMs, storedHoldPosition } = set;
  if (noteAllOf.size > 0) {
    await connection.query(
      `UPDATE holds SET state = 'expired', ended_at_ms = expires_at_ms
       WHERE pet_id = ANY ($1) AND state = 'held' AND expires_at_ms <= $2 AND position <= $3`,
      [...noteAllOf],
      BigInt(nowMs),
      storedHoldPosition,
    );
  }
}

/** A record that has run out may still be there. */
async function writeRecords(connection: Queryable, { newRecords }: WorkingSet): Promise<void> {
  const records = [...newRecords.values()];
  if (records.length > 0) {
    await connection.query(
      `INSERT INTO idempotency_records (key_id, idempotency_key, fingerprint, result, created_at_ms)
       SELECT key_id, idempotency_key, decode(fingerprint, 'hex'), result, created_at_ms
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
         AS new (key_id, idempotency_key, fingerprint, result, created_at_ms)
       ON CONFLICT (key_id, idempotency_key) DO UPDATE SET
         fingerprint = excluded.fingerprint, result = excluded.result, created_at_ms = excluded.created_at_ms`,
      records.map(({ keyId }) => keyId),
      records.map(({ key }) => key),
      records.map(({ fingerprint }) => fingerprint),
      records.map(({ result }) => result),
      records.map(({ createdAtMs }) => BigInt(createdAtMs)),
    );
  }
}
