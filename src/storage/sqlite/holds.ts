import { holdNotFound } from "../../domain/errors.ts";
import {
  assertHoldable,
  decideCommit,
  decideRelease,
  type Hold,
  type HoldEnding,
  type HoldRequest,
  type HoldState,
  holdAt,
  holdStateAt,
  holdStates,
} from "../../domain/hold.ts";
import { maxInt64 } from "../../domain/ranges.ts";
import { type Availability, availableOf } from "../../domain/stock.ts";
import type { HoldQuery, ListedHold, WriteContext, Written } from "../../domain/store/stock-store.ts";
import { type HoldSelection, selectionsOf } from "../stored-stock.ts";
import { readEnumText, readInteger } from "./column-values.ts";
import type { Connection } from "./connection.ts";
import { findStillHeld, noteExpiredHold, sumExpired } from "./hold-expiry.ts";
import { doOnce } from "./idempotency.ts";
import { findStock, type StoredStock } from "./stock.ts";
import { StockWrites } from "./stock-writes.ts";

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
  return connection.asOfOneMoment(() => {
    const stock = findStock(connection, petId);
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
    .asOfOneMoment(() => selectionsOf(wanted).flatMap((selection) => listStored(connection, selection, query, nowMs)))
    .sort((a, b) => (a.position > b.position ? -1 : 1))
    .slice(0, query.limit)
    .map((hold) => ({ ...hold, ...holdAt(hold, nowMs) }));
}

/** Throws `PET_NOT_FOUND`, `INSUFFICIENT_STOCK` and `IDEMPOTENCY_KEY_REUSED`. To be called in a transaction. */
export function createHold(connection: Connection, request: HoldRequest, context: WriteContext): Written<Hold> {
  const { holdId, petId, quantity, ttlMs, reference } = request;
  return doOnce(connection, context, () => {
    const stock = findStock(connection, petId);
    assertHoldable(request, stock, stock === undefined ? 0n : heldFor(connection, request, stock, context));
    connection.run(
      `INSERT INTO holds (id, pet_id, quantity, reference, state, created_at_ms, expires_at_ms, key_id)
       VALUES (?, ?, ?, ?, 'held', ?, ?, ?)`,
      holdId,
      petId,
      quantity,
      reference ?? null,
      BigInt(context.nowMs),
      BigInt(context.nowMs + ttlMs),
      context.keyId,
    );
    connection.run(`UPDATE stock SET held = held + ? WHERE pet_id = ?`, quantity, petId);
    return getHold(connection, holdId, context.nowMs);
  });
}

/** Throws `HOLD_NOT_FOUND`, `HOLD_ENDED` and `IDEMPOTENCY_KEY_REUSED`. To be called in a transaction. */
export function commitHold(connection: Connection, ending: HoldEnding, context: WriteContext): Written<Hold> {
  return doOnce(connection, context, () => {
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
      writes.write(stock, { kind: "hold", quantity, reason, reference }, context);
      writes.flush();
    }
    return getHold(connection, ending.holdId, context.nowMs);
  });
}

/** Throws `HOLD_NOT_FOUND`, `HOLD_ENDED` and `IDEMPOTENCY_KEY_REUSED`. To be called in a transaction. */
export function releaseHold(connection: Connection, ending: HoldEnding, context: WriteContext): Written<Hold> {
  return doOnce(connection, context, () => {
    const hold = findHoldToEnd(connection, ending.holdId, context);
    if (decideRelease(hold, context.nowMs)) {
      endHold(connection, hold, "released", context.nowMs);
    }
    return getHold(connection, ending.holdId, context.nowMs);
  });
}

function heldFor(
  connection: Connection,
  { quantity }: HoldRequest,
  stock: StoredStock,
  { nowMs }: WriteContext,
): bigint {
  return findStillHeld(connection, stock, { nowMs, heldAtMost: stock.quantity - quantity }).held;
}

/** Notes whether the hold is over. Throws `HOLD_NOT_FOUND`. */
function findHoldToEnd(connection: Connection, holdId: string, { nowMs }: WriteContext): ListedHold {
  const hold = findHold(connection, holdId);
  if (hold.state === "held" && holdStateAt(hold, nowMs) !== "held") {
    noteExpiredHold(connection, hold);
  }
  return hold;
}

function endHold(connection: Connection, hold: ListedHold, state: HoldState, nowMs: number): void {
  connection.run(`UPDATE holds SET state = ?, ended_at_ms = ? WHERE position = ?`, state, BigInt(nowMs), hold.position);
  connection.run(`UPDATE stock SET held = held - ? WHERE pet_id = ?`, hold.quantity, hold.petId);
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
 * Those that are over, and have not been noted to be, are few: they are found by their expiry. The others are found by
 * their positions. So no list goes through all that is held.
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
