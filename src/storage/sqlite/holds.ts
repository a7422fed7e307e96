import { holdNotFound } from "../../domain/errors.ts";
import {
  assertHoldable,
  decideCommit,
  decideRelease,
  type Hold,
  type HoldEnding,
  type HoldRequest,
  type HoldRequirement,
  type HoldSelection,
  type HoldState,
  holdAt,
  holdStateAt,
  holdStates,
  selectionsOf,
} from "../../domain/hold.ts";
import { maxInt64 } from "../../domain/ranges.ts";
import { type Availability, availableOf } from "../../domain/stock.ts";
import type { HoldQuery, ListedHold, WriteContext, Written } from "../../domain/store.ts";
import { type Connection, readEnumText, readInteger } from "./connection.ts";
import { runIdempotently } from "./idempotency.ts";
import { addHeld, findStock, readStock, StockWrites } from "./stock.ts";
import { type StoredStock, stockCacheOf } from "./stock-cache.ts";

interface HoldRow {
  readonly position: bigint;
  readonly id: string;
  readonly pet_id: bigint;
  readonly quantity: bigint;
  readonly reference: string | null;
  readonly state: string;
  readonly created_at_ms: bigint;
  readonly expires_at_ms: bigint;
  readonly key_id: string;
}

type HoldsOfPet = Omit<HoldQuery, "states">;

/** Undefined when there is no such pet. */
export function findAvailability(connection: Connection, petId: bigint, nowMs: number): Availability | undefined {
  return connection.inSnapshot(() => {
    const stock = readStock(connection, petId);
    if (stock === undefined) {
      return undefined;
    }
    const held = stock.held === 0n ? 0n : stock.held - sumExpired(connection, petId, nowMs);
    return { petId, quantity: stock.quantity, held, available: availableOf(stock.quantity, held) };
  });
}

/** Throws `HOLD_NOT_FOUND`. */
export function getHold(connection: Connection, id: string, nowMs: number): Hold {
  const { position: _, ...hold } = findHold(connection, id);
  return holdAt(hold, nowMs);
}

/** By descending position. */
export function listHolds(connection: Connection, { states, ...query }: HoldQuery, nowMs: number): ListedHold[] {
  const wanted = states.length === 0 ? holdStates : states;
  return connection
    .inSnapshot(() => selectionsOf(wanted).flatMap((selection) => listStored(connection, selection, query, nowMs)))
    .sort((a, b) => (a.position > b.position ? -1 : 1))
    .slice(0, query.limit)
    .map((hold) => ({ ...hold, ...holdAt(hold, nowMs) }));
}

/** Throws `PET_NOT_FOUND`, `INSUFFICIENT_STOCK` and `IDEMPOTENCY_KEY_REUSED`. To be called in a transaction. */
export function createHold(connection: Connection, request: HoldRequest, context: WriteContext): Written<Hold> {
  const { holdId, petId, quantity, ttlMs, reference } = request;
  return runIdempotently(connection, context, () => {
    const stock = findStock(connection, petId);
    const { nowMs } = context;
    const held = stock && findStillHeld(connection, stock, { nowMs, heldAtMost: stock.quantity - quantity });
    assertHoldable(request, stock, held ?? 0n);
    connection.run(
      `INSERT INTO holds (id, pet_id, quantity, reference, state, created_at_ms, expires_at_ms, key_id)
       VALUES (?, ?, ?, ?, 'held', ?, ?, ?)`,
      holdId,
      petId,
      quantity,
      reference ?? null,
      BigInt(nowMs),
      BigInt(nowMs + ttlMs),
      context.keyId,
    );
    addHeld(connection, petId, quantity);
    return getHold(connection, holdId, nowMs);
  });
}

/** Throws `HOLD_NOT_FOUND`, `HOLD_ENDED` and `IDEMPOTENCY_KEY_REUSED`. To be called in a transaction. */
export function commitHold(connection: Connection, ending: HoldEnding, context: WriteContext): Written<Hold> {
  return runIdempotently(connection, context, () => {
    const hold = findHoldToEnd(connection, ending.holdId, context);
    const writes = new StockWrites(connection, [hold.petId]);
    const stock = writes.find(hold.petId);
    if (stock === undefined) {
      throw holdNotFound();
    }
    const quantity = decideCommit(hold, stock, context.nowMs);
    if (quantity !== undefined) {
      const { reason, reference = hold.reference } = ending;
      endHold(connection, hold, "committed", context.nowMs);
      writes.write(hold.petId, { kind: "hold", quantity, reason, reference }, context);
      writes.flush();
    }
    return getHold(connection, ending.holdId, context.nowMs);
  });
}

/** Throws `HOLD_NOT_FOUND`, `HOLD_ENDED` and `IDEMPOTENCY_KEY_REUSED`. To be called in a transaction. */
export function releaseHold(connection: Connection, ending: HoldEnding, context: WriteContext): Written<Hold> {
  return runIdempotently(connection, context, () => {
    const hold = findHoldToEnd(connection, ending.holdId, context);
    if (decideRelease(hold, context.nowMs)) {
      endHold(connection, hold, "released", context.nowMs);
    }
    return getHold(connection, ending.holdId, context.nowMs);
  });
}

/** Finds a hold, and stores it as expired if it is over. Throws `HOLD_NOT_FOUND`. */
function findHoldToEnd(connection: Connection, holdId: string, { nowMs }: WriteContext): ListedHold {
  const hold = findHold(connection, holdId);
  if (hold.state === "held" && holdStateAt(hold, nowMs) !== "held") {
    endHold(connection, hold, "expired", hold.expiresAtMs);
  }
  return hold;
}

function endHold(connection: Connection, hold: ListedHold, state: HoldState, atMs: number): void {
  connection.run(`UPDATE holds SET state = ?, ended_at_ms = ? WHERE position = ?`, state, BigInt(atMs), hold.position);
  addHeld(connection, hold.petId, -hold.quantity);
}

/** Throws `HOLD_NOT_FOUND`. */
function findHold(connection: Connection, id: string): ListedHold {
  const row = connection.get<HoldRow>(`SELECT * FROM holds WHERE id = ?`, id);
  if (row === undefined) {
    throw holdNotFound();
  }
  return holdFromRow(row);
}

/*
 * Few holds are over and still stored as held. An index by expiry finds them. An index by position finds the others. So
 * no list reads all holds that are stored as held.
 */
function listStored(
  connection: Connection,
  [stored, which]: HoldSelection,
  { petId, before = maxInt64, limit }: HoldsOfPet,
  nowMs: number,
): ListedHold[] {
  const pet = petId === undefined ? [] : [petId];
  const ofPet = petId === undefined ? "" : "AND pet_id = ?";
  if (which === "over") {
    const rows = connection.all<HoldRow>(
      `SELECT * FROM holds
       WHERE position IN (
         SELECT position FROM holds INDEXED BY ${petId === undefined ? "holds_by_expiry" : "holds_open"}
         WHERE state = 'held' AND expires_at_ms <= ? AND position < ? ${ofPet} ORDER BY position DESC LIMIT ?)`,
      BigInt(nowMs),
      before,
      ...pet,
      BigInt(limit),
    );
    return rows.map(holdFromRow);
  }
  const rows = connection.all<HoldRow>(
    `SELECT * FROM holds INDEXED BY ${petId === undefined ? "holds_by_state" : "holds_by_pet"}
     WHERE state = ? AND position < ? ${which === "all" ? "" : `AND expires_at_ms > ?`} ${ofPet}
     ORDER BY position DESC LIMIT ?`,
    stored,
    before,
    ...(which === "all" ? [] : [BigInt(nowMs)]),
    ...pet,
    BigInt(limit),
  );
  return rows.map(holdFromRow);
}

function holdFromRow(row: HoldRow): ListedHold {
  return {
    position: readInteger(row.position),
    id: row.id,
    petId: readInteger(row.pet_id),
    quantity: readInteger(row.quantity),
    reference: row.reference ?? undefined,
    state: readEnumText(row.state, holdStates),
    createdAtMs: Number(row.created_at_ms),
    expiresAtMs: Number(row.expires_at_ms),
    keyId: row.key_id,
  };
}

/*
 * A hold is over at its expiry, whatever its stored state is. A write that finds a hold over stores it as expired, so
 * that it stays over when a clock is set back. To *note* a hold is to store it as expired.
 */

/** How many holds are noted in one step: a few milliseconds' work. */
const notedPerStep = 500;

/**
 * Returns the sum of a pet's holds that are not over. Notes the oldest holds that are over, in one step, so that a large
 * number of holds that expire at once does not keep all writers waiting. If the write is granted only because holds are
 * over, it notes as many as it rests on: otherwise they would hold the same stock again when a clock is set back. To be
 * called in a transaction.
 */
export function findStillHeld(
  connection: Connection,
  { petId, held }: StoredStock,
  { nowMs, heldAtMost }: HoldRequirement,
): bigint {
  const over = held === 0n ? 0n : sumExpired(connection, petId, nowMs);
  if (over === 0n) {
    return held;
  }
  const stillHeld = held - over;
  let left = over - noteOldest(connection, petId, nowMs);
  while (stillHeld <= heldAtMost && stillHeld + left > heldAtMost) {
    left -= noteOldest(connection, petId, nowMs);
  }
  addHeld(connection, petId, left - over);
  return stillHeld;
}

/** Notes the oldest holds of a pet that are over. Returns their sum. */
function noteOldest(connection: Connection, petId: bigint, nowMs: number): bigint {
  const noted = connection.all<{ readonly quantity: bigint }>(
    `UPDATE holds SET state = 'expired', ended_at_ms = expires_at_ms
     WHERE position IN (
       SELECT position FROM holds WHERE pet_id = ? AND state = 'held' AND expires_at_ms <= ?
       ORDER BY expires_at_ms LIMIT ${notedPerStep})
     RETURNING quantity`,
    petId,
    BigInt(nowMs),
  );
  return noted.reduce((sum, { quantity }) => sum + quantity, 0n);
}

/** The sum of the holds of a pet that are over, and have not been noted yet. */
function sumExpired(connection: Connection, petId: bigint, nowMs: number): bigint {
  const row = connection.get<{ readonly sum: bigint }>(
    `SELECT ifnull(sum(quantity), 0) AS sum FROM holds WHERE pet_id = ? AND state = 'held' AND expires_at_ms <= ?`,
    petId,
    BigInt(nowMs),
  );
  return row?.sum ?? 0n;
}

/** Notes the holds of all pets that are over: the oldest first, at most `limit`. To be called in a transaction. */
export function noteExpired(connection: Connection, nowMs: number, limit: bigint): void {
  // Without the name of the index, SQLite would sort all holds that are stored as held.
  const oldest = `SELECT position, pet_id, quantity FROM holds INDEXED BY holds_by_expiry
     WHERE state = 'held' AND expires_at_ms <= ? ORDER BY expires_at_ms, position LIMIT ?`;
  connection.run(
    `UPDATE stock SET held = held - sum
     FROM (SELECT pet_id AS held_pet, sum(quantity) AS sum FROM (${oldest}) GROUP BY pet_id)
     WHERE pet_id = held_pet`,
    BigInt(nowMs),
    limit,
  );
  stockCacheOf(connection).forgetRows();
  connection.run(
    `UPDATE holds SET state = 'expired', ended_at_ms = expires_at_ms WHERE position IN (SELECT position FROM (${oldest}))`,
    BigInt(nowMs),
    limit,
  );
}
