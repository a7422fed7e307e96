import type { PetStatus } from "../../../domain/catalog.ts";
import type { HoldState } from "../../../domain/hold.ts";
import { revisionOf } from "../../../domain/stock.ts";
import { type ChangeCount, countChanges } from "../change-tokens.ts";
import type { Connection, Queryable } from "../connection/connection.ts";
import { type HoldRow, holdColumns, holdFromRow } from "../holds.ts";
import type { StockWriteTask } from "./stock-writes.ts";
import { type Head, type OpenHold, type OverdueHolds, recordId, type StoredRecord, WorkingSet } from "./working-set.ts";

/** How many overdue holds of a pet are read at most: a few milliseconds' work. */
const maxOverdue = 500;

interface HeadRow {
  readonly lineage: string;
  readonly revision: bigint;
  readonly hold_position: bigint;
}

/** Locks the head row until the transaction ends. So groups, imports and deletions run one after the other. */
export async function lockHead(connection: Queryable): Promise<Head> {
  const [row] = await connection.query<HeadRow>(`SELECT lineage, revision, hold_position FROM head FOR UPDATE`);
  if (row === undefined) {
    throw new Error("the store has no head");
  }
  return { lineage: row.lineage, revision: row.revision, holdPosition: row.hold_position };
}

/**
 * Locks the head row, and reads the rows that the writes of a group need at `nowMs`, in one round trip. To be called in
 * a transaction.
 */
export async function readWorkingSet(
  connection: Connection,
  tasks: readonly StockWriteTask<unknown>[],
  nowMs: number,
): Promise<WorkingSet> {
  const needs = tasks.map((task) => task.needs);
  const holdIds = needs.flatMap((need) => need.holdIds);
  const [head, stocks, holds, overdue, records] = await Promise.all([
    lockHead(connection),
    readStocks(connection, unique(needs.flatMap(({ petIds }) => petIds)), holdIds),
    readHolds(connection, holdIds),
    readOverdue(connection, unique(needs.flatMap(({ petIdsNeedingHolds }) => petIdsNeedingHolds)), nowMs),
    readRecords(connection, tasks),
  ]);
  return new WorkingSet({ nowMs, head, stocks, holds, overdue, records });
}

function unique(ids: readonly bigint[]): bigint[] {
  return [...new Set(ids)];
}

/** What is stored of a pet's stock. */
export interface StockRow {
  readonly pet_id: bigint;
  readonly quantity: bigint;
  readonly revision: bigint;
  readonly held: bigint;
  readonly status: PetStatus;
}

async function readStocks(connection: Queryable, petIds: readonly bigint[], holdIds: readonly string[]) {
  const columns = `SELECT pet_id, quantity, revision, held, status FROM stock`;
  const rows =
    holdIds.length === 0
      ? await connection.query<StockRow>(`${columns} WHERE pet_id = ANY ($1)`, petIds)
      : await connection.query<StockRow>(
          `${columns} WHERE pet_id = ANY ($1 || ARRAY(SELECT holds.pet_id FROM holds WHERE id = ANY ($2)))`,
          petIds,
          holdIds,
        );
  return rows.map(stockFromRow);
}

export function stockFromRow({ pet_id: petId, quantity, revision, held, status }: StockRow) {
  return { petId, quantity, revision, held, status };
}

async function readHolds(connection: Queryable, holdIds: readonly string[]) {
  if (holdIds.length === 0) {
    return [];
  }
  return (await connection.query<HoldRow>(`SELECT ${holdColumns} FROM holds WHERE id = ANY ($1)`, holdIds)).map(
    holdFromRow,
  );
}

interface OverdueRow {
  readonly pet_id: bigint;
  readonly sum: bigint;
  readonly position: bigint;
  readonly quantity: bigint;
  readonly expires_at_ms: bigint;
}

async function readOverdue(
  connection: Queryable,
  petIds: readonly bigint[],
  nowMs: number,
): Promise<ReadonlyMap<bigint, OverdueHolds>> {
  if (petIds.length === 0) {
    return new Map();
  }
  const stored: HoldState = "held";
  const overdue = `FROM holds WHERE pet_id = wanted AND state = '${stored}' AND expires_at_ms <= $2`;
  const rows = await connection.query<OverdueRow>(
    `WITH pet AS MATERIALIZED
       (SELECT wanted, (SELECT sum(quantity)::bigint ${overdue}) AS sum FROM unnest($1::bigint[]) AS pet (wanted))
     SELECT wanted AS pet_id, sum, oldest.* FROM pet CROSS JOIN LATERAL
       (SELECT position, quantity, expires_at_ms ${overdue} ORDER BY expires_at_ms LIMIT ${maxOverdue}) AS oldest`,
    petIds,
    BigInt(nowMs),
  );
  const byPet = Map.groupBy(rows, (row) => row.pet_id);
  return new Map(Array.from(byPet, ([petId, ofPet]) => [petId, overdueFromRows(ofPet)]));
}

function overdueFromRows(rows: readonly OverdueRow[]): OverdueHolds {
  const oldest = rows.map(
    ({ position, quantity, expires_at_ms: expires }): OpenHold => ({
      position,
      quantity,
      expiresAtMs: Number(expires),
    }),
  );
  const read = oldest.reduce((sum, { quantity }) => sum + quantity, 0n);
  return { oldest, rest: (rows[0]?.sum ?? 0n) - read };
}

interface RecordRow {
  readonly key_id: string;
  readonly idempotency_key: string;
  readonly fingerprint: string;
  readonly result: string;
  readonly created_at_ms: bigint;
}

async function readRecords(
  connection: Queryable,
  tasks: readonly StockWriteTask<unknown>[],
): Promise<ReadonlyMap<string, StoredRecord>> {
  const named = tasks.flatMap(({ context: { keyId, idempotency } }) =>
    idempotency === undefined ? [] : [{ keyId, key: idempotency.key }],
  );
  if (named.length === 0) {
    return new Map();
  }
  const rows = await connection.query<RecordRow>(
    `SELECT key_id, idempotency_key, encode(fingerprint, 'hex') AS fingerprint, result, created_at_ms
     FROM idempotency_records
     WHERE (key_id, idempotency_key) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
    named.map(({ keyId }) => keyId),
    named.map(({ key }) => key),
  );
  return new Map(
    rows.map(({ key_id: keyId, idempotency_key: key, fingerprint, result, created_at_ms: createdAt }) => [
      recordId(keyId, key),
      { fingerprint, result, createdAtMs: Number(createdAt) },
    ]),
  );
}

/** Whether a group has anything to write. */
export function isDirty(set: WorkingSet): boolean {
  return set.changedPets.size + set.newHolds.length + set.holdEnds.length + set.newRecords.size > 0;
}

/** Writes the changes of a group and commits, in one round trip. Each statement works on a whole set of rows. */
export async function writeWorkingSet(connection: Connection, set: WorkingSet, count: ChangeCount): Promise<void> {
  const statements = [
    writeChanges(connection, set),
    writeNewHolds(connection, set),
    writeHoldEnds(connection, set),
    writeRest(connection, set),
    writeStocks(connection, set),
    writeHead(connection, set),
    writeRecords(connection, set),
    countStockChanges(connection, set, count),
    connection.commit(),
  ];
  // After a failed statement the later ones fail, too, with errors that tell less.
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

async function countStockChanges(connection: Queryable, { changes }: WorkingSet, count: ChangeCount): Promise<void> {
  if (changes.length > 0) {
    await countChanges(connection, count, "stock", changes.length);
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

/** Ends the overdue holds that the group has not read: their state becomes expired. */
async function writeRest(connection: Queryable, set: WorkingSet): Promise<void> {
  const { petsToExpire, nowMs, storedHoldPosition } = set;
  if (petsToExpire.size > 0) {
    await connection.query(
      `UPDATE holds SET state = 'expired', ended_at_ms = expires_at_ms
       WHERE pet_id = ANY ($1) AND state = 'held' AND expires_at_ms <= $2 AND position <= $3`,
      [...petsToExpire],
      BigInt(nowMs),
      storedHoldPosition,
    );
  }
}

/** An expired record may still be there, and is replaced. */
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
