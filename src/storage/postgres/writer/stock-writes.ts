import { holdNotFound } from "../../../domain/errors.ts";
import {
  assertHoldable,
  decideCommit,
  decideRelease,
  type Hold,
  type HoldEnding,
  type HoldRequest,
  holdAt,
  holdStateAt,
} from "../../../domain/hold.ts";
import { isReplay } from "../../../domain/idempotency.ts";
import {
  batchRefusalError,
  decideStock,
  dependsOnHolds,
  entryOf,
  type StockCommand,
  type StockEntry,
  type StockRefusal,
  stockRefusalError,
} from "../../../domain/stock.ts";
import type { BatchOutcome, ListedHold, WriteContext, Written } from "../../../domain/store.ts";
import { parseResult, writeResult } from "../../rows.ts";
import type { OpenHold, StoredStock, WorkingSet } from "./working-set.ts";

/** The rows that a write reads. */
interface Needs {
  readonly petIds: readonly bigint[];
  /** The pets whose overdue holds the decision may depend on. */
  readonly petIdsNeedingHolds: readonly bigint[];
  /** The holds, with the stock of their pets. */
  readonly holdIds: readonly string[];
}

/** One write of stock or holds. It decides on rows that a group has read. */
export interface StockWriteTask<T> {
  readonly context: WriteContext;
  readonly needs: Needs;
  /**
   * The change, where the write is one change without versions and without an idempotency key: see `plain-changes.ts`.
   */
  readonly plain?: StockCommand | undefined;
  /** Throws the domain's errors. */
  readonly run: (set: WorkingSet) => Written<T>;
}

export function changeStock(command: StockCommand, context: WriteContext): StockWriteTask<StockEntry> {
  return {
    context,
    needs: needsOf([command]),
    plain: command.versions === undefined && context.idempotency === undefined ? command : undefined,
    run: (set) =>
      runIdempotently(set, context, () => {
        const result = carryOut(set, command, context);
        if (result.outcome !== "done") {
          throw stockRefusalError(command.petId, result);
        }
        return result.entry;
      }),
  };
}

/** With `atomic` it throws the error of the first refusal, and has changed nothing then. */
export function changeStockInBatch(
  commands: readonly StockCommand[],
  atomic: boolean,
  context: WriteContext,
): StockWriteTask<readonly BatchOutcome[]> {
  return {
    context,
    needs: needsOf(commands),
    run: (set) =>
      runIdempotently(set, context, () =>
        atomic
          ? set.atomically(() => commands.map((command, index) => carryOutOrThrow(set, command, context, index)))
          : commands.map((command) => carryOut(set, command, context)),
      ),
  };
}

/** Throws `PET_NOT_FOUND` and `INSUFFICIENT_STOCK`. */
export function createHold(request: HoldRequest, context: WriteContext): StockWriteTask<Hold> {
  const { holdId, petId, quantity, ttlMs, reference } = request;
  return {
    context,
    needs: { petIds: [petId], petIdsNeedingHolds: [petId], holdIds: [] },
    run: (set) =>
      runIdempotently(set, context, () => {
        const stock = set.stockOf(petId);
        const held = stock && findStillHeld(set, stock, stock.quantity - quantity);
        assertHoldable(request, stock, held ?? 0n);
        const times = { createdAtMs: set.nowMs, expiresAtMs: set.nowMs + ttlMs };
        const { keyId } = context;
        return holdNow(set, set.addHold({ id: holdId, petId, quantity, reference, state: "held", ...times, keyId }));
      }),
  };
}

/** Throws `HOLD_NOT_FOUND`, `HOLD_ENDED` and `QUANTITY_OUT_OF_RANGE`. */
export function commitHold(ending: HoldEnding, context: WriteContext): StockWriteTask<Hold> {
  return endingOf(ending, context, (set, hold) => {
    const stock = set.stockOf(hold.petId);
    if (stock === undefined) {
      throw holdNotFound();
    }
    const quantity = decideCommit(hold, stock, set.nowMs);
    if (quantity !== undefined) {
      const { reason, reference = hold.reference } = ending;
      set.endHold(hold.petId, hold, { state: "committed", endedAtMs: set.nowMs });
      set.writeStock(set.stockOf(hold.petId) as StoredStock, { kind: "hold", quantity, reason, reference }, context);
    }
  });
}

/** Throws `HOLD_NOT_FOUND` and `HOLD_ENDED`. */
export function releaseHold(ending: HoldEnding, context: WriteContext): StockWriteTask<Hold> {
  return endingOf(ending, context, (set, hold) => {
    if (decideRelease(hold, set.nowMs)) {
      set.endHold(hold.petId, hold, { state: "released", endedAtMs: set.nowMs });
    }
  });
}

function endingOf(
  { holdId }: HoldEnding,
  context: WriteContext,
  end: (set: WorkingSet, hold: ListedHold) => void,
): StockWriteTask<Hold> {
  return {
    context,
    needs: { petIds: [], petIdsNeedingHolds: [], holdIds: [holdId] },
    run: (set) =>
      runIdempotently(set, context, () => {
        const hold = findHold(set, holdId);
        // A hold that was once found to be over stays over.
        if (hold.state === "held" && holdStateAt(hold, set.nowMs) !== "held") {
          noteExpiredHold(set, hold.petId, hold);
        }
        end(set, hold);
        return holdNow(set, findHold(set, holdId));
      }),
  };
}

/** Throws `HOLD_NOT_FOUND`. */
function findHold(set: WorkingSet, id: string): ListedHold {
  const hold = set.holdOf(id);
  if (hold === undefined) {
    throw holdNotFound();
  }
  return hold;
}

function holdNow(set: WorkingSet, listed: ListedHold): Hold {
  const { position: _, ...hold } = listed;
  return holdAt(hold, set.nowMs);
}

function needsOf(commands: readonly StockCommand[]): Needs {
  return {
    petIds: commands.map(({ petId }) => petId),
    petIdsNeedingHolds: commands.filter(dependsOnHolds).map(({ petId }) => petId),
    holdIds: [],
  };
}

function carryOutOrThrow(set: WorkingSet, command: StockCommand, context: WriteContext, index: number): BatchOutcome {
  const result = carryOut(set, command, context);
  if (result.outcome !== "done") {
    throw batchRefusalError(index, command.petId, result);
  }
  return result;
}

type Done = Extract<BatchOutcome, { readonly outcome: "done" }>;

function carryOut(set: WorkingSet, command: StockCommand, context: WriteContext): Done | StockRefusal {
  const stock = set.stockOf(command.petId);
  const held = stock && dependsOnHolds(command) ? findStillHeld(set, stock, stock.quantity + command.delta) : 0n;
  const decision = decideStock(command, stock, held);
  if (decision.outcome !== "done") {
    return decision;
  }
  const { kind, reason, reference } = command;
  const present = set.stockOf(command.petId) as StoredStock;
  return {
    outcome: "done",
    entry: entryOf(set.writeStock(present, { kind, quantity: decision.quantity, reason, reference }, context)),
  };
}

/*
 * A hold is over at its expiry, whatever its stored state is. A write that finds a hold over stores it as expired, so
 * that it stays over when a clock is set back. Here this is called to note a hold.
 */

/**
 * Returns the sum of a pet's holds that are not over. The write is granted where that is no more than `heldAtMost`.
 * Notes the oldest holds that are over, which the group has read. Notes those that it has not read only where the write
 * cannot be granted otherwise.
 */
function findStillHeld(set: WorkingSet, { petId, held }: StoredStock, heldAtMost: bigint): bigint {
  const { oldest, rest } = set.overdueOf(petId);
  const over = oldest.filter(({ expiresAtMs }) => expiresAtMs <= set.nowMs);
  const known = over.reduce((sum, { quantity }) => sum + quantity, 0n);
  const stillHeld = held - known - rest;
  for (const hold of over) {
    noteExpiredHold(set, petId, hold);
  }
  if (rest > 0n && stillHeld <= heldAtMost && held - known > heldAtMost) {
    for (const hold of set.overdueOf(petId).oldest.filter(({ expiresAtMs }) => expiresAtMs <= set.nowMs)) {
      noteExpiredHold(set, petId, hold);
    }
    set.expireRest(petId);
  }
  return stillHeld;
}

/** Notes one hold. */
function noteExpiredHold(set: WorkingSet, petId: bigint, hold: OpenHold): void {
  set.endHold(petId, hold, { state: "expired", endedAtMs: hold.expiresAtMs });
}

/**
 * Does a write once. If it was done before under the same idempotency key, returns the result of that time. An error of
 * `work` is not remembered. Throws `IDEMPOTENCY_KEY_REUSED`.
 */
function runIdempotently<T>(set: WorkingSet, { keyId, idempotency }: WriteContext, work: () => T): Written<T> {
  if (idempotency === undefined) {
    return { value: work(), isReplayed: false };
  }
  const record = set.recordOf(keyId, idempotency.key);
  if (record !== undefined && isReplay(record, idempotency, set.nowMs)) {
    return { value: parseResult(record.result), isReplayed: true };
  }
  const value = work();
  const { key, fingerprint } = idempotency;
  set.remember({ keyId, key, fingerprint, result: writeResult(value), createdAtMs: set.nowMs });
  return { value, isReplayed: false };
}
