import type { HoldState } from "../../../domain/hold.ts";
import type { PetStatus } from "../../../domain/pet.ts";
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

/** Locks the head until the transaction ends: so groups, imports and deletions come one after the other. */
export async function lockHead(connection: Queryable): Promise<Head> {
  const [row] = await connection.query<HeadRow>(`SELECT lineage, revision, hold_position FROM head FOR UPDATE`);
  if (row === undefined) {
    throw new Error("the store has no head");
  }
  return { lineage: row.lineage, revision: row.revision, holdPosition: row.hold_position };
}

/** Reads what the writes of a group need, under the lock of the head and in one round trip. To be called in a transaction. */
export async function gather(connection: Connection, tasks: readonly StockWriteTask<unknown>[]): Promise<WorkingSet> {
  const nowMs = Math.max(...tasks.map(({ context }) => context.nowMs));
  const needs = tasks.map((task) => task.needs);
  const holdIds = needs.flatMap((need) => need.holdIds);
  const [head, stocks, holds, overdue, records] = await Promise.all([
    lockHead(connection),
    readStocks(connection, unique(needs.flatMap(({ petIds }) => petIds)), holdIds),
    readHolds(connection, holdIds),
    readOverdue(connection, unique(needs.flatMap(({ judgedPetIds }) => judgedPetIds)), nowMs),
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
    `SELECT wanted AS pet_id, (SELECT sum(quantity)::bigint ${overdue}) AS sum, oldest.*
     FROM unnest($1::bigint[]) AS pet (wanted) CROSS JOIN LATERAL
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
