import { type PetStatus, petStatuses } from "../../domain/catalog.ts";
import { greaterOf, mapKeyOf } from "../../domain/ranges.ts";
import { type StockEntry, versionOf } from "../../domain/stock.ts";
import { type Connection, readEnumText, readInteger } from "./connection.ts";

/*
 * A commit appends its changes to the history. It leaves quantity, revision and number of changes in `stock` as they
 * are: the rows of a group's pets are on different pages, and each page would be written for a few bytes. The writer
 * thread applies the changes of many groups to `stock` together, in the order of ids. All changes up to
 * `history.applied_revision` have been applied, and maybe some later ones. So a pet's stock is its row in `stock`, or
 * its last change after this revision, whichever is newer. `held` and `status` are written at once.
 *
 * In SQL the view `current_stock` has the same stock. It reads all unapplied changes, so it is for queries of many
 * rows.
 */

/** A pet's stock after its last change. */
interface ChangedStock {
  readonly quantity: bigint;
  readonly revision: bigint;
  /** How many changes there have been. */
  readonly changes: bigint;
}

/** What a row of `stock` has. Quantity, revision and changes may be behind. */
export interface StockRow extends ChangedStock {
  readonly pet_id: bigint;
  readonly held: bigint;
  readonly status: string;
}

/** A pet's stock. The version is made when it is asked for, because most writes need none. */
export class StoredStock implements ChangedStock, StockEntry {
  readonly petId: bigint;
  readonly quantity: bigint;
  readonly status: PetStatus;
  /** The revision of the last change; 0 before the first one. */
  readonly revision: bigint;
  readonly changes: bigint;
  /** The sum of the holds that are stored as held, some of which may be over. */
  readonly held: bigint;
  readonly lineage: string;
  /** The age of the cache when `status` and `held` were read. */
  readonly readAt: number;

  constructor(values: Omit<StoredStock, "version" | "with">) {
    this.petId = values.petId;
    this.quantity = values.quantity;
    this.status = values.status;
    this.revision = values.revision;
    this.changes = values.changes;
    this.held = values.held;
    this.lineage = values.lineage;
    this.readAt = values.readAt;
  }

  get version(): string {
    return versionOf(this.lineage, this.revision);
  }

  /** The stock after a change, or with another sum of holds. */
  with({
    quantity = this.quantity,
    revision = this.revision,
    changes = this.changes,
    held = this.held,
  }: Partial<ChangedStock & Pick<StoredStock, "held">>): StoredStock {
    const { petId, status, lineage, readAt } = this;
    return new StoredStock({ petId, quantity, status, revision, changes, held, lineage, readAt });
  }
}

/** The most pets that a cache keeps besides those with unapplied changes: some 15 MB. */
const mostApplied = 65_536;

interface Position {
  readonly applied: bigint;
  readonly head: bigint;
}

interface ChangedRow extends ChangedStock {
  readonly pet_id: bigint;
}

/** What tells which commits of others have changed rows of `stock`. */
interface News extends Position {
  readonly lineage: string;
  /** How many imports have changed rows. */
  readonly imports: bigint;
  /** How many other writes there have been, besides changes of stock. They change no more of a row than `held`. */
  readonly others: bigint;
}

/**
 * The stock of pets as one connection sees it in its present transaction: of all pets whose changes `stock` may lack,
 * and of those that were read or written lately. When other connections have committed anything, their changes are read
 * from the history, and the rows are out of date, because `status` and `held` may have changed.
 *
 * A connection that only reads meets the commits of its own store's writer all the time. So it may trust the stored
 * counters: as long as they tell of no import, `status` is right, though `held` may not be. A commit of another program
 * changes no counter, and may come between counted ones. A caller that trusts the counters must hear of such commits in
 * another way.
 */
export class StockCache {
  readonly #connection: Connection;
  readonly #byPet = new Map<number | bigint, ChangedStock | StoredStock>();
  /** The stock that the changes of this transaction have replaced, in their order. */
  readonly #replaced: StoredStock[] = [];
  #isCurrent = false;
  /** SQLite's `data_version`: it changes when another connection has committed anything. */
  #version: bigint | undefined;
  #news: News | undefined;
  /** How often all rows have become out of date. */
  #age = 0;
  #isTrusting = false;
  #trustedUntilMs = 0;
  #applied = 0n;
  #head = 0n;
  #lineage = "";
  #restarts = 0;
  /** How often `held` has been changed over this connection. */
  heldChanges = 0;
  /** With so many pets, those that have no unapplied changes are forgotten. */
  #limit = mostApplied;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The revision of the newest change; 0 before the first one. */
  get head(): bigint {
    this.#catchUp();
    return this.#head;
  }

  /**
   * The lineage of the history, as of the last transaction that has read or changed stock. Another one comes with another
   * store, which a program has put into the open file.
   */
  get lineage(): string {
    return this.#lineage;
  }

  /** How often everything was forgotten: after some rollbacks, or because the file has another or an older store. */
  get restarts(): number {
    this.#catchUp();
    return this.#restarts;
  }

  /** How many changes `stock` may lack. */
  get unapplied(): number {
    this.#catchUp();
    return Number(this.#head - this.#applied);
  }

  /** The pets of these changes, by ascending id. */
  unappliedPetIds(): BigInt64Array {
    this.#catchUp();
    const petIds: bigint[] = [];
    for (const [key, { revision }] of this.#byPet) {
      if (revision > this.#applied) {
        petIds.push(BigInt(key));
      }
    }
    return BigInt64Array.from(petIds).sort();
  }

  /** The last change of a pet, if `stock` may lack it. */
  findChange(petId: bigint): ChangedStock | undefined {
    this.#catchUp();
    const change = this.#byPet.get(mapKeyOf(petId));
    return change !== undefined && change.revision > this.#applied ? change : undefined;
  }

  /** A pet's stock; undefined where its row has to be read. */
  find(petId: bigint): StoredStock | undefined {
    this.#catchUp();
    const stock = this.#byPet.get(mapKeyOf(petId));
    return stock instanceof StoredStock && stock.readAt === this.#age ? stock : undefined;
  }

  /** Returns the stock in a row that was read now, with the pet's last change. Throws `DamagedRowError`. */
  add(row: StockRow): StoredStock {
    this.#catchUp();
    const change = this.#byPet.get(mapKeyOf(row.pet_id));
    const { quantity, revision, changes } = change !== undefined && change.revision > row.revision ? change : row;
    const stock = new StoredStock({
      petId: readInteger(row.pet_id),
      quantity: readInteger(quantity),
      status: readEnumText(row.status, petStatuses),
      revision: readInteger(revision),
      changes: readInteger(changes),
      held: readInteger(row.held),
      lineage: this.#lineage,
      readAt: this.#age,
    });
    this.#byPet.set(mapKeyOf(stock.petId), stock);
    return stock;
  }

  /** Notes a change that this transaction makes of stock that `find` has. Returns the stock before and after it. */
  noteChange(petId: bigint, quantity: bigint): { readonly before: StoredStock; readonly after: StoredStock } {
    const before = this.#byPet.get(mapKeyOf(petId)) as StoredStock;
    this.#head += 1n;
    const after = before.with({ quantity, revision: this.#head, changes: before.changes + 1n });
    this.#replaced.push(before);
    this.#byPet.set(mapKeyOf(petId), after);
    return { before, after };
  }

  /** How many changes this transaction has made. */
  get changes(): number {
    return this.#replaced.length;
  }

  /** The pets that this transaction has changed since it had made so many changes, in the order of the changes. */
  changedPetIds(since: number): BigInt64Array {
    return BigInt64Array.from(this.#replaced.slice(since), ({ petId }) => petId);
  }

  /** Notes that this transaction has added to what is held of a pet. */
  noteHeld(petId: bigint, added: bigint): void {
    this.heldChanges += 1;
    const stock = this.find(petId);
    if (stock !== undefined) {
      this.#byPet.set(mapKeyOf(petId), stock.with({ held: stock.held + added }));
    }
  }

  /** Notes that rows of `stock` may have been written. */
  forgetRows(): void {
    this.#age += 1;
  }

  /** Trusts the stored counters for a time: see above. */
  trustCounters(forMs: number): void {
    this.#isTrusting = true;
    this.#trustedUntilMs = performance.now() + forMs;
  }

  /** Notes that this transaction has applied all changes up to a revision. */
  noteApplied(revision: bigint): void {
    this.#applied = greaterOf(this.#applied, revision);
  }

  /** The position to which `goBack` returns. */
  get position(): Position {
    return { applied: this.#applied, head: this.#head };
  }

  /** To be called when a transaction begins: others may have committed since the last one. */
  expire(): void {
    this.#isCurrent = false;
    this.#replaced.length = 0;
    if (this.#byPet.size >= this.#limit) {
      this.#forgetApplied();
    }
  }

  /** Takes back changes that were noted, and have not been made: those after a revision. */
  takeBack(head: bigint): void {
    while (this.#head > head && this.#replaced.length > 0) {
      const before = this.#replaced.pop() as StoredStock;
      const { held } = this.#byPet.get(mapKeyOf(before.petId)) as StoredStock;
      this.#head -= 1n;
      this.#byPet.set(mapKeyOf(before.petId), before.with({ held }));
    }
  }

  /** To be called after the rollback of a transaction or a savepoint, with the position at which it began. */
  goBack({ applied, head }: Position): void {
    this.takeBack(head);
    this.forgetRows();
    if (this.#applied !== applied) {
      // The rollback may have taken back applied changes, some of which may be missing here.
      this.#forgetAll();
    }
  }

  #catchUp(): void {
    if (this.#isCurrent) {
      return;
    }
    if (this.#isTrusting && performance.now() > this.#trustedUntilMs) {
      this.#isTrusting = false;
      this.forgetRows();
    }
    const { data_version: version } = this.#connection.get(`PRAGMA data_version`) as { data_version: bigint };
    if (version !== this.#version) {
      this.#readNews();
      this.#version = version;
    }
    this.#isCurrent = true;
  }

  #readNews(): void {
    const news = this.#connection.get<News>(
      `SELECT applied_revision AS applied, (SELECT ifnull(max(revision), 0) FROM changes) AS head,
         lineage, stock AS imports, keys + usage + webhooks + others AS others
       FROM history, change_counters`,
    ) as News;
    const { applied, head, lineage } = news;
    if (head < this.#head || lineage !== this.#lineage) {
      // Another program has put an older store into the file, or another one.
      this.#forgetAll();
      this.#lineage = lineage;
    }
    // Changes that others have made and applied are not read from the history.
    if (!this.#isTrusting || mayHaveChangedRows(news, this.#news) || applied > this.#head) {
      this.forgetRows();
    }
    this.#news = news;
    if (head > this.#head) {
      this.#readChanges(greaterOf(this.#head, applied));
      this.#head = head;
    }
    this.noteApplied(applied);
  }

  #readChanges(after: bigint): void {
    const rows = this.#connection.all<ChangedRow>(
      `SELECT pet_id, after AS quantity, revision, number AS changes FROM changes WHERE revision > ? ORDER BY revision`,
      after,
    );
    for (const row of rows) {
      const key = mapKeyOf(readInteger(row.pet_id));
      const stock = this.#byPet.get(key);
      const change = {
        quantity: readInteger(row.quantity),
        revision: readInteger(row.revision),
        changes: readInteger(row.changes),
      };
      this.#byPet.set(key, stock instanceof StoredStock ? stock.with(change) : change);
    }
  }

  #forgetApplied(): void {
    for (const [key, { revision }] of this.#byPet) {
      if (revision <= this.#applied) {
        this.#byPet.delete(key);
      }
    }
    this.#limit = this.#byPet.size + mostApplied;
  }

  #forgetAll(): void {
    this.#restarts += 1;
    this.#byPet.clear();
    this.#applied = 0n;
    this.#head = 0n;
    this.#version = undefined;
    this.#isCurrent = false;
  }
}

/** Where nothing was counted, another program has committed something. */
function mayHaveChangedRows(news: News, former: News | undefined): boolean {
  const isUncounted = news.head === former?.head && news.others === former.others;
  return news.imports !== former?.imports || isUncounted;
}

const byConnection = new WeakMap<Connection, StockCache>();

/** The cache of a connection. Its transactions call `expire` when they begin. */
export function stockCacheOf(connection: Connection): StockCache {
  let cache = byConnection.get(connection);
  if (cache === undefined) {
    cache = new StockCache(connection);
    byConnection.set(connection, cache);
  }
  return cache;
}
