import { randomBytes } from "node:crypto";
import type { InventoryItem, StockedPet } from "../../src/domain/catalog.ts";
import { DomainError, historyGone, holdNotFound, petNotFound } from "../../src/domain/errors.ts";
import type { ChangeKind, ChangePage, ChangeQuery, HistoryBounds, StockChange } from "../../src/domain/history.ts";
import {
  assertHoldable,
  decideCommit,
  decideRelease,
  type Hold,
  type HoldEnding,
  type HoldRequest,
  type HoldState,
  holdAt,
} from "../../src/domain/hold.ts";
import { type IdempotencyRecord, idempotencyMs, isReplay } from "../../src/domain/idempotency.ts";
import {
  type Availability,
  availableOf,
  type ChangeNote,
  decideStock,
  dependsOnHolds,
  type StockCommand,
  type StockEntry,
  stockRefusalError,
} from "../../src/domain/stock.ts";
import type {
  BatchOutcome,
  CommittedChanges,
  HoldQuery,
  InventoryQuery,
  ListedHold,
  StockStore,
  WriteContext,
  Written,
} from "../../src/domain/store.ts";

/** What the handles of one store share of its stock. */
export class StockData {
  readonly lineage = randomBytes(6).toString("hex");
  pets: ReadonlyMap<bigint, StockedPet> = new Map();
  /** The revision of each pet's last change. */
  revisions: ReadonlyMap<bigint, bigint> = new Map();
  history: readonly StockChange[] = [];
  /** By position, from 1. */
  holds: readonly ListedHold[] = [];
  /** When holds were committed or released. */
  readonly holdEnds = new Map<string, number>();
  lastPosition = 0n;
  /** By API key and idempotency key. */
  readonly records = new Map<string, Remembered>();

  get head(): bigint {
    return this.history.at(-1)?.revision ?? 0n;
  }

  /** Appends a change of a pet to the history. */
  note(petId: bigint, change: Omit<StockChange, "revision" | "petId">): void {
    const revision = this.head + 1n;
    this.history = [...this.history, { revision, petId, ...change }];
    this.revisions = new Map(this.revisions).set(petId, revision);
  }
}

interface Remembered extends IdempotencyRecord {
  readonly value: unknown;
}

/** The model of the stock, its holds and its history. */
export class MemoryStock implements StockStore {
  readonly followed = this;
  readonly #data: StockData;
  readonly #listeners: ((changes: CommittedChanges) => void)[] = [];

  constructor(data: StockData) {
    this.#data = data;
  }

  async listInventory({ statuses, after, limit, asOf }: InventoryQuery): Promise<InventoryItem[]> {
    if (asOf !== undefined && (this.#data.history[0]?.revision ?? 1n) > asOf + 1n) {
      throw historyGone(asOf);
    }
    return [...this.#data.pets.values()]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .flatMap(({ id, quantity, status }) => {
        const later =
          asOf !== undefined && this.#data.history.find(({ petId, revision }) => petId === id && revision > asOf);
        const then = later ? later.before : quantity;
        return then === undefined ? [] : [{ petId: id, quantity: then, status }];
      })
      .filter(({ status }) => statuses.length === 0 || statuses.includes(status))
      .filter(({ petId }) => after === undefined || petId > after)
      .slice(0, limit);
  }

  async getEntry(petId: bigint): Promise<StockEntry> {
    return this.#entry(petId) ?? refuse(petNotFound(petId));
  }

  async getAvailability(petId: bigint, nowMs: number): Promise<Availability> {
    const { quantity } = await this.getEntry(petId);
    const held = this.#heldOf(petId, nowMs);
    return { petId, quantity, held, available: availableOf(quantity, held) };
  }

  async changeStock(command: StockCommand, context: WriteContext): Promise<Written<StockEntry>> {
    return this.#once(context, () => {
      const outcome = this.#carryOut(command, context);
      return outcome.outcome === "done" ? outcome.entry : refuse(stockRefusalError(command.petId, outcome));
    });
  }

  async changeStockInBatch(
    commands: readonly StockCommand[],
    atomic: boolean,
    context: WriteContext,
  ): Promise<Written<readonly BatchOutcome[]>> {
    return this.#once(context, () =>
      commands.map((command, index) => {
        const outcome = this.#carryOut(command, context);
        if (atomic && outcome.outcome !== "done") {
          const { code, message } = stockRefusalError(command.petId, outcome);
          throw new DomainError(code, `changes[${index}]: ${message}`);
        }
        return outcome;
      }),
    );
  }

  async createHold(request: HoldRequest, context: WriteContext): Promise<Written<Hold>> {
    const { holdId: id, petId, quantity, ttlMs, reference } = request;
    const { nowMs: createdAtMs, keyId } = context;
    return this.#once(context, () => {
      assertHoldable(request, this.#entry(petId), this.#judgeHeld(petId, createdAtMs));
      const expiresAtMs = createdAtMs + ttlMs;
      const hold: Hold = { id, petId, quantity, reference, state: "held", createdAtMs, expiresAtMs, keyId };
      this.#data.lastPosition += 1n;
      this.#data.holds = [...this.#data.holds, { ...hold, position: this.#data.lastPosition }];
      return hold;
    });
  }

  async getHold(id: string, nowMs: number): Promise<Hold> {
    return withoutPosition(holdAt(this.#hold(id) ?? refuse(holdNotFound()), nowMs) as ListedHold);
  }

  async listHolds({ petId, states, before, limit }: HoldQuery, nowMs: number): Promise<ListedHold[]> {
    return this.#data.holds
      .map((hold) => holdAt(hold, nowMs) as ListedHold)
      .filter((hold) => petId === undefined || hold.petId === petId)
      .filter(({ state }) => states.length === 0 || states.includes(state))
      .filter(({ position }) => before === undefined || position < before)
      .reverse()
      .slice(0, limit);
  }

  async commitHold(ending: HoldEnding, context: WriteContext): Promise<Written<Hold>> {
    return this.#once(context, () => {
      const hold = this.#judged(ending.holdId, context.nowMs);
      const quantity = decideCommit(hold, this.#entry(hold.petId) as StockEntry, context.nowMs);
      if (quantity !== undefined) {
        this.#write(hold.petId, "hold", quantity, { reference: hold.reference, ...given(ending) }, context);
        return this.#end(hold, "committed", context.nowMs);
      }
      return withoutPosition(hold);
    });
  }

  async releaseHold({ holdId }: HoldEnding, context: WriteContext): Promise<Written<Hold>> {
    return this.#once(context, () => {
      const hold = this.#judged(holdId, context.nowMs);
      return decideRelease(hold, context.nowMs) ? this.#end(hold, "released", context.nowMs) : withoutPosition(hold);
    });
  }

  async historyBounds(keptSinceMs: number): Promise<HistoryBounds> {
    const { lineage, head, history } = this.#data;
    const oldest = history.find(({ occurredAtMs }) => occurredAtMs >= keptSinceMs)?.revision ?? head + 1n;
    return { lineage, head, oldest };
  }

  async listChanges({ after, before, petIds, crossing, newestFirst, limit }: ChangeQuery): Promise<ChangePage> {
    const unknown = petIds.find((petId) => !this.#data.pets.has(petId));
    if (unknown !== undefined) {
      throw petNotFound(unknown);
    }
    const changes = this.#data.history
      .filter(({ revision }) => revision > after && (before === undefined || revision < before))
      .filter(({ petId }) => petIds.length === 0 || petIds.includes(petId))
      .filter((change) => crossing === undefined || (isAbove(change.before, crossing) && change.after <= crossing));
    return { changes: (newestFirst ? changes.reverse() : changes).slice(0, limit), searchedTo: undefined };
  }

  onChanges(listener: (changes: CommittedChanges) => void): void {
    this.#listeners.push(listener);
  }

  async deleteOutdated(keptSinceMs: number, nowMs: number): Promise<boolean> {
    const data = this.#data;
    const kept = data.history.findIndex(({ occurredAtMs: atMs }) => atMs >= keptSinceMs && atMs <= nowMs);
    const former = data.history.slice(0, kept === -1 ? -1 : kept);
    data.history = data.history.slice(former.findLastIndex(({ occurredAtMs }) => occurredAtMs < keptSinceMs) + 1);
    data.holds = data.holds
      .map((hold) => holdAt(hold, nowMs) as ListedHold)
      .filter(
        ({ id, state, expiresAtMs }) => state === "held" || (data.holdEnds.get(id) ?? expiresAtMs) >= keptSinceMs,
      );
    for (const [id, { createdAtMs }] of data.records) {
      if (createdAtMs <= nowMs - idempotencyMs) {
        data.records.delete(id);
      }
    }
    return false;
  }

  /** Hears of changes to the stock that this handle has made. */
  protected noteOwnStock(_changes: number): void {}

  #entry(petId: bigint): StockEntry | undefined {
    const pet = this.#data.pets.get(petId);
    const version = `${this.#data.lineage}-${this.#data.revisions.get(petId) ?? 0n}`;
    return pet && { petId, quantity: pet.quantity, status: pet.status, version };
  }

  #hold(id: string): ListedHold | undefined {
    return this.#data.holds.find((hold) => hold.id === id);
  }

  /** A hold, once its pet's holds have been judged. */
  #judged(id: string, nowMs: number): ListedHold {
    const { petId } = this.#hold(id) ?? refuse(holdNotFound());
    this.#judgeHeld(petId, nowMs);
    return this.#hold(id) as ListedHold;
  }

  /** Notes which holds of a pet are over, and returns what the others hold. */
  #judgeHeld(petId: bigint, nowMs: number): bigint {
    this.#data.holds = this.#data.holds.map((hold) =>
      hold.petId === petId ? (holdAt(hold, nowMs) as ListedHold) : hold,
    );
    return this.#heldOf(petId, nowMs);
  }

  #heldOf(petId: bigint, nowMs: number): bigint {
    return this.#data.holds
      .filter((hold) => hold.petId === petId && holdAt(hold, nowMs).state === "held")
      .reduce((sum, { quantity }) => sum + quantity, 0n);
  }

  #end({ id }: ListedHold, state: HoldState, nowMs: number): Hold {
    this.#data.holdEnds.set(id, nowMs);
    this.#data.holds = this.#data.holds.map((hold) => (hold.id === id ? { ...hold, state } : hold));
    return withoutPosition(this.#hold(id) as ListedHold);
  }

  #carryOut(command: StockCommand, context: WriteContext): BatchOutcome {
    const held = dependsOnHolds(command) ? this.#judgeHeld(command.petId, context.nowMs) : 0n;
    const decision = decideStock(command, this.#entry(command.petId), held);
    if (decision.outcome !== "done") {
      return decision;
    }
    this.#write(command.petId, command.kind, decision.quantity, command, context);
    return { outcome: "done", entry: this.#entry(command.petId) as StockEntry };
  }

  #write(petId: bigint, kind: ChangeKind, after: bigint, note: ChangeNote, context: WriteContext): void {
    const pet = this.#data.pets.get(petId) as StockedPet;
    const { reason, reference } = note;
    const { keyId, requestId, nowMs: occurredAtMs } = context;
    this.#data.pets = new Map(this.#data.pets).set(petId, { ...pet, quantity: after });
    this.#data.note(petId, { before: pet.quantity, after, kind, reason, reference, keyId, requestId, occurredAtMs });
  }

  /** Does a write once, whole or not at all, and tells what it has changed. */
  async #once<T>(context: WriteContext, work: () => T): Promise<Written<T>> {
    const { keyId, nowMs, idempotency } = context;
    const id = `${keyId}\0${idempotency?.key}`;
    const record = idempotency && this.#data.records.get(id);
    if (idempotency && record && isReplay(record, idempotency, nowMs)) {
      return { value: record.value as T, isReplayed: true };
    }
    const value = this.#atomically(work);
    if (idempotency) {
      this.#data.records.set(id, { fingerprint: idempotency.fingerprint, value, createdAtMs: nowMs });
    }
    return { value, isReplayed: false };
  }

  #atomically<T>(work: () => T): T {
    const { pets, revisions, history, head } = this.#data;
    try {
      const value = work();
      const petIds = this.#data.history.filter(({ revision }) => revision > head).map(({ petId }) => petId);
      this.noteOwnStock(petIds.length);
      for (const listener of petIds.length === 0 ? [] : this.#listeners) {
        listener({ lineage: this.#data.lineage, revision: this.#data.head, petIds });
      }
      return value;
    } catch (error) {
      Object.assign(this.#data, { pets, revisions, history });
      throw error;
    }
  }
}

function refuse(error: Error): never {
  throw error;
}

function withoutPosition(listed: ListedHold): Hold {
  const { position: _, ...hold } = listed;
  return hold;
}

/** The texts that were given. */
function given({ reason, reference }: ChangeNote): ChangeNote {
  return { reason, ...(reference !== undefined && { reference }) };
}

function isAbove(quantity: bigint | undefined, bound: bigint): boolean {
  return quantity !== undefined && quantity > bound;
}
