import { holdNotFound } from "../../domain/errors.ts";
import { type Hold, type HoldState, holdAt, holdStates, selectionsOf } from "../../domain/hold.ts";
import { maxInt64 } from "../../domain/ranges.ts";
import { type Availability, availableOf } from "../../domain/stock.ts";
import type { HoldQuery, ListedHold } from "../../domain/store.ts";
import type { Queryable } from "./connection/connection.ts";

export interface HoldRow {
  readonly position: bigint;
  readonly id: string;
  readonly pet_id: bigint;
  readonly quantity: bigint;
  readonly reference: string | null;
  readonly state: HoldState;
  readonly created_at_ms: bigint;
  readonly expires_at_ms: bigint;
  readonly key_id: string;
}

export const holdColumns = "position, id, pet_id, quantity, reference, state, created_at_ms, expires_at_ms, key_id";

/** Undefined when there is no such pet. */
export async function findAvailability(
  connection: Queryable,
  petId: bigint,
  nowMs: number,
): Promise<Availability | undefined> {
  const [row] = await connection.query<{ quantity: bigint; held: bigint }>(
    `SELECT quantity, held - coalesce(
       (SELECT sum(quantity) FROM holds WHERE pet_id = $1 AND state = 'held' AND expires_at_ms <= $2), 0)::bigint AS held
     FROM stock WHERE pet_id = $1`,
    petId,
    BigInt(nowMs),
  );
  return row && { petId, ...row, available: availableOf(row.quantity, row.held) };
}

/** Throws `HOLD_NOT_FOUND`. */
export async function getHold(connection: Queryable, id: string, nowMs: number): Promise<Hold> {
  const [row] = await connection.query<HoldRow>(`SELECT ${holdColumns} FROM holds WHERE id = $1`, id);
  if (row === undefined) {
    throw holdNotFound();
  }
  const { position: _, ...hold } = holdFromRow(row);
  return holdAt(hold, nowMs);
}

/**
 * By descending position. Few holds are over and still stored as held. An index by expiry finds them. An index by
 * position finds the others, state by state. So no list reads all holds that are stored as held.
 */
export async function listHolds(
  connection: Queryable,
  { states, petId, before = maxInt64, limit }: HoldQuery,
  nowMs: number,
): Promise<ListedHold[]> {
  const wanted = states.length === 0 ? holdStates : states;
  const ofPet = petId === undefined ? "" : "AND pet_id = $4";
  const last = "ORDER BY position DESC LIMIT $2";
  const parts = selectionsOf(wanted).map(([stored, which]) => {
    const matches = `SELECT ${holdColumns} FROM holds WHERE state = '${stored}' AND position < $1 ${ofPet}`;
    if (which === "over") {
      return `WITH over AS MATERIALIZED (${matches} AND expires_at_ms <= $3) SELECT * FROM over ${last}`;
    }
    return `${matches} AND ${which === "all" ? "$3::bigint IS NOT NULL" : "expires_at_ms > $3"} ${last}`;
  });
  const rows = await connection.query<HoldRow>(
    `SELECT * FROM (${parts.map((part) => `(${part})`).join(" UNION ALL ")}) AS found ${last}`,
    before,
    BigInt(limit),
    BigInt(nowMs),
    ...(petId === undefined ? [] : [petId]),
  );
  return rows.map(holdFromRow).map((hold) => ({ ...hold, ...holdAt(hold, nowMs) }));
}

export function holdFromRow(row: HoldRow): ListedHold {
  return {
    position: row.position,
    id: row.id,
    petId: row.pet_id,
    quantity: row.quantity,
    reference: row.reference ?? undefined,
    state: row.state,
    createdAtMs: Number(row.created_at_ms),
    expiresAtMs: Number(row.expires_at_ms),
    keyId: row.key_id,
  };
}
