import type { PetStatus } from "../../../domain/catalog.ts";
import type { StockChange } from "../../../domain/history.ts";
import type { HoldState } from "../../../domain/hold.ts";
import type { IdempotencyRecord } from "../../../domain/idempotency.ts";
import { type StockEntry, type StockWrite, versionOf } from "../../../domain/stock.ts";
import type { ListedHold, WriteContext } from "../../../domain/store.ts";

/** The head row: the revision of the newest change, and the newest position that a hold took or that was skipped. */
export interface Head {
  readonly lineage: string;
  readonly revision: bigint;
  readonly holdPosition: bigint;
}

/** What is stored of a pet's stock. */
export interface StoredStock extends StockEntry {
  /** The sum of the holds that are stored as held, some of which may be over. */
  readonly held: bigint;
}

/** A hold that is stored as held, and that may be over. */
export interface OpenHold {
  readonly position: bigint;
  readonly quantity: bigint;
  readonly expiresAtMs: number;
}

/** The holds of a pet that are over at the time of the group. */
export interface OverdueHolds {
  /** The oldest of them, and the holds that this group has created: these may not be over yet. */
  readonly oldest: readonly OpenHold[];
  /** The sum of the others, which were not read. */
  readonly rest: bigint;
}

/** The record of an idempotency key, and the result. */
export interface StoredRecord extends IdempotencyRecord {
  readonly result: string;
}

/** A record to be written. */
interface NewRecord extends StoredRecord {
  readonly keyId: string;
  readonly key: string;
}

/** The end of a hold. */
interface HoldEnd {
  readonly position: bigint;
  readonly state: Exclude<HoldState, "held">;
  readonly endedAtMs: number;
}

/** What a group has read under the lock of the head. */
interface GroupRows {
  /** The time of the group: all its writes happen then. */
  readonly nowMs: number;
  readonly head: Head;
  readonly stocks: Iterable<{ petId: bigint; quantity: bigint; revision: bigint; held: bigint; status: PetStatus }>;
  readonly holds: Iterable<ListedHold>;
  readonly overdue: ReadonlyMap<bigint, OverdueHolds>;
  readonly records: ReadonlyMap<string, StoredRecord>;
}

/**
 * The rows that a group of writes has read. Each write changes them in memory, and the next write sees the change. The
 * set also collects what is to be written in the end.
 */
export class WorkingSet {
  /** When the group's writes happen. If it depends on holds, these were read as of then. */
  nowMs: number;
  readonly lineage: string;
  readonly changes: StockChange[] = [];
  readonly newHolds: ListedHold[] = [];
  readonly holdEnds: HoldEnd[] = [];
  /** By key id and idempotency key. */
  readonly newRecords = new Map<string, NewRecord>();
  /** The pets whose stock is to be written. */
  readonly changedPets = new Set<bigint>();
  /** The pets whose overdue holds are all to be stored as expired, unread ones included. */
  readonly petsToExpire = new Set<bigint>();
  /** The position of the newest hold before this group. */
  readonly storedHoldPosition: bigint;
  #head: Head;
  readonly #stocks: Map<bigint, StoredStock>;
  readonly #holds: Map<string, ListedHold>;
  /** The ids of the known holds by position. */
  readonly #holdIds: Map<bigint, string>;
  readonly #overdue: Map<bigint, OverdueHolds>;
  readonly #records: ReadonlyMap<string, StoredRecord>;
  /** How to undo each change, the latest one last. Undefined outside of `atomically`. */
  #undo: (() => void)[] | undefined;

  constructor({ nowMs, head, stocks, holds, overdue, records }: GroupRows) {
    this.nowMs = nowMs;
    this.#head = head;
    this.storedHoldPosition = head.holdPosition;
    this.lineage = head.lineage;
    this.#stocks = new Map(
      Array.from(stocks, ({ revision, ...stock }) => [
        stock.petId,
        { ...stock, version: versionOf(head.lineage, revision) },
      ]),
    );
    this.#holds = new Map(Array.from(holds, (hold) => [hold.id, hold]));
    this.#holdIds = new Map(Array.from(this.#holds.values(), ({ position, id }) => [position, id]));
    this.#overdue = new Map(overdue);
    this.#records = records;
  }

  get head(): Head {
    return this.#head;
  }

  stockOf(petId: bigint): StoredStock | undefined {
    return this.#stocks.get(petId);
  }

  holdOf(id: string): ListedHold | undefined {
    return this.#holds.get(id);
  }

  recordOf(keyId: string, key: string): StoredRecord | undefined {
    return this.newRecords.get(recordId(keyId, key)) ?? this.#records.get(recordId(keyId, key));
  }

  /** A pet's overdue holds, and the holds that this group has created, which may be over, too. */
  overdueOf(petId: bigint): OverdueHolds {
    return this.#overdue.get(petId) ?? { oldest: [], rest: 0n };
  }

  /** Writes a new stock count with its history. Returns what is stored then. */
  writeStock(
    stock: StoredStock,
    { kind, quantity, reason, reference }: StockWrite,
    { keyId, requestId }: WriteContext,
  ): StoredStock {
    const revision = this.#head.revision + 1n;
    this.#setHead({ ...this.#head, revision });
    this.#push(this.changes, {
      revision,
      petId: stock.petId,
      before: stock.quantity,
      after: quantity,
      kind,
      reason,
      reference,
      keyId,
      requestId,
      occurredAtMs: this.nowMs,
    });
    const written = { ...stock, quantity, version: versionOf(this.lineage, revision) };
    this.#setStock(written);
    return written;
  }

  addHold(hold: Omit<ListedHold, "position">): ListedHold {
    const holdPosition = this.#head.holdPosition + 1n;
    this.#setHead({ ...this.#head, holdPosition });
    const listed = { ...hold, position: holdPosition };
    this.#push(this.newHolds, listed);
    this.#set(this.#holds, hold.id, listed);
    this.#set(this.#holdIds, holdPosition, hold.id);
    this.#addHeld(hold.petId, hold.quantity);
    const { oldest, rest } = this.overdueOf(hold.petId);
    this.#set(this.#overdue, hold.petId, { oldest: [...oldest, listed], rest });
    return listed;
  }

  /** Moves the head, and adds no hold. */
  skipHoldPosition(): void {
    this.#setHead({ ...this.#head, holdPosition: this.#head.holdPosition + 1n });
  }

  /** Ends a hold, and takes its quantity off what is held of the pet. */
  endHold(petId: bigint, { position, quantity, expiresAtMs }: OpenHold, end: Omit<HoldEnd, "position">): void {
    this.#push(this.holdEnds, { position, ...end });
    this.#addHeld(petId, -quantity);
    const { oldest, rest } = this.overdueOf(petId);
    const isOfRest = !this.#isAmongOldest({ petId, position }) && rest > 0n && expiresAtMs <= this.nowMs;
    this.#set(this.#overdue, petId, {
      oldest: oldest.filter((hold) => hold.position !== position),
      rest: isOfRest ? rest - quantity : rest,
    });
    const id = this.#holdIds.get(position);
    const hold = id === undefined ? undefined : this.#holds.get(id);
    if (hold !== undefined) {
      this.#set(this.#holds, hold.id, { ...hold, state: end.state });
    }
  }

  /**
   * Ends all overdue holds of a pet that are not among the oldest. Those that were not read are ended by one statement.
   */
  expireRest(petId: bigint): void {
    for (const hold of this.#holds.values()) {
      const isOverdue = hold.state === "held" && hold.expiresAtMs <= this.nowMs;
      if (hold.petId === petId && isOverdue && !this.#isAmongOldest(hold)) {
        this.endHold(petId, hold, { state: "expired", endedAtMs: hold.expiresAtMs });
      }
    }
    const { oldest, rest } = this.overdueOf(petId);
    this.#add(this.petsToExpire, petId);
    this.#addHeld(petId, -rest);
    this.#set(this.#overdue, petId, { oldest, rest: 0n });
  }

  #isAmongOldest({ petId, position }: Pick<ListedHold, "petId" | "position">): boolean {
    return this.overdueOf(petId).oldest.some((hold) => hold.position === position);
  }

  remember(record: NewRecord): void {
    this.#set(this.newRecords, recordId(record.keyId, record.key), record);
  }

  /** Does some work. When it throws, its changes are undone. The work must not call this itself. */
  atomically<T>(work: () => T): T {
    const steps: (() => void)[] = [];
    this.#undo = steps;
    try {
      return work();
    } catch (error) {
      for (const step of steps.reverse()) {
        step();
      }
      throw error;
    } finally {
      this.#undo = undefined;
    }
  }

  #setHead(head: Head): void {
    const former = this.#head;
    this.#head = head;
    this.#undo?.push(() => {
      this.#head = former;
    });
  }

  /** Adds to what is held of a pet. */
  #addHeld(petId: bigint, quantity: bigint): void {
    const stock = this.#stocks.get(petId);
    if (stock !== undefined) {
      this.#setStock({ ...stock, held: stock.held + quantity });
    }
  }

  #setStock(stock: StoredStock): void {
    this.#set(this.#stocks, stock.petId, stock);
    this.#add(this.changedPets, stock.petId);
  }

  #set<K, V>(map: Map<K, V>, key: K, value: V): void {
    const former = map.get(key);
    map.set(key, value);
    this.#undo?.push(() => {
      if (former === undefined) {
        map.delete(key);
      } else {
        map.set(key, former);
      }
    });
  }

  #add<T>(set: Set<T>, item: T): void {
    if (!set.has(item)) {
      set.add(item);
      this.#undo?.push(() => void set.delete(item));
    }
  }

  #push<T>(list: T[], item: T): void {
    list.push(item);
    this.#undo?.push(() => void list.pop());
  }
}

export function recordId(keyId: string, key: string): string {
  return `${keyId}\n${key}`;
}
