import type { ChangePage, ChangeQuery, HistoryBounds } from "../history.ts";
import type { Hold, HoldEnding, HoldRequest, HoldState } from "../hold.ts";
import type { Idempotency } from "../idempotency.ts";
import type { InventoryItem, PetStatus } from "../pet.ts";
import type { Availability, StockCommand, StockEntry, StockRefusal } from "../stock.ts";
import type { ListQuery } from "./pet-store.ts";
import type { WaitOptions } from "./store.ts";

/**
 * Keeps the stock of the pets, the holds on it, and the history of its changes.
 *
 * Each write is one transaction: it decides by the rules of `stock.ts` and `hold.ts` on what is stored then, and writes
 * entry, version, history and idempotency record together. An aborted write may still take effect. Besides the errors
 * named, every write throws `IDEMPOTENCY_KEY_REUSED`.
 */
export interface StockStore {
  listInventory(query: InventoryQuery, options?: WaitOptions): Promise<InventoryItem[]>;
  /** Throws `PET_NOT_FOUND`. */
  getEntry(petId: bigint): Promise<StockEntry>;
  /** Throws `PET_NOT_FOUND`. */
  getAvailability(petId: bigint, nowMs: number): Promise<Availability>;
  /** Throws `PET_NOT_FOUND`, `PRECONDITION_FAILED`, `INSUFFICIENT_STOCK` and `QUANTITY_OUT_OF_RANGE`. */
  changeStock(command: StockCommand, context: WriteContext, options?: WaitOptions): Promise<Written<StockEntry>>;
  /**
   * Makes changes in their order, in one commit. With `atomic` it throws the error of the first refusal, its message led
   * by `changes[3]: ` for the fourth change, and has changed nothing; otherwise a refused change leaves the others alone.
   */
  changeStockInBatch(
    commands: readonly StockCommand[],
    atomic: boolean,
    context: WriteContext,
    options?: WaitOptions,
  ): Promise<Written<readonly BatchOutcome[]>>;

  /** Throws `PET_NOT_FOUND` and `INSUFFICIENT_STOCK`. */
  createHold(request: HoldRequest, context: WriteContext, options?: WaitOptions): Promise<Written<Hold>>;
  /** Throws `HOLD_NOT_FOUND`. The state is that at `nowMs`. */
  getHold(id: string, nowMs: number): Promise<Hold>;
  /** By descending `position`, at most `limit`. The states are those at `nowMs`. */
  listHolds(query: HoldQuery, nowMs: number): Promise<ListedHold[]>;
  /** Throws `HOLD_NOT_FOUND`, `HOLD_ENDED` and `QUANTITY_OUT_OF_RANGE`. */
  commitHold(ending: HoldEnding, context: WriteContext, options?: WaitOptions): Promise<Written<Hold>>;
  /** Throws `HOLD_NOT_FOUND` and `HOLD_ENDED`. */
  releaseHold(ending: HoldEnding, context: WriteContext, options?: WaitOptions): Promise<Written<Hold>>;

  /**
   * How far the history goes. Changes before `keptSinceMs` are no longer part of it, even if they have not been deleted
   * yet.
   */
  historyBounds(keptSinceMs: number): Promise<HistoryBounds>;
  /** Throws `PET_NOT_FOUND` when one of the pets does not exist. */
  listChanges(query: ChangeQuery): Promise<ChangePage>;
  /**
   * Calls back with each group of changes that this store object has committed, in their order, before the callers'
   * promises resolve. Imports are left out.
   */
  onChanges(listener: (changes: CommittedChanges) => void): void;
  /**
   * Deletes some outdated rows: changes and ended holds from before `keptSinceMs`, and idempotency records that have
   * expired at `nowMs`. Each call is short, so that it delays nobody. Resolves to whether there is more to delete.
   */
  deleteOutdated(keptSinceMs: number, nowMs: number): Promise<boolean>;
}

/** Selects stock entries. */
export interface InventoryQuery extends ListQuery<PetStatus> {
  /**
   * The revision at which the entries are wanted: quantities as that change left them, without the pets that are newer.
   * Statuses are the present ones. Undefined for the newest revision.
   */
  readonly asOf?: bigint | undefined;
}

/** Who makes a write, and when. */
export interface WriteContext {
  /** Milliseconds since the Unix epoch: what holds are judged by, and the time of the change. */
  readonly nowMs: number;
  readonly keyId: string;
  readonly requestId: string;
  /** Under which the write is done once; undefined where it is done each time. */
  readonly idempotency?: Idempotency | undefined;
}

/** The result of a write. */
export interface Written<T> {
  readonly value: T;
  /** Whether this is the remembered result of the same write, made before under the same idempotency key. */
  readonly isReplayed: boolean;
}

/** The outcome of one command of a batch. */
export type BatchOutcome = { readonly outcome: "done"; readonly entry: StockEntry } | StockRefusal;

/** Selects holds. */
export interface HoldQuery {
  /** Undefined for all pets. */
  readonly petId: bigint | undefined;
  /** Only holds in one of these states; empty for all. */
  readonly states: readonly HoldState[];
  /** Only holds with a lower position; undefined for all. */
  readonly before: bigint | undefined;
  readonly limit: number;
}

/** A hold, and its place among all holds: later ones have higher positions. */
export interface ListedHold extends Hold {
  readonly position: bigint;
}

/** Changes that were committed together. */
export interface CommittedChanges {
  /** The revision of the last one. */
  readonly revision: bigint;
  /** The pets, one for each change, in the order of revisions. */
  readonly petIds: readonly bigint[];
}
