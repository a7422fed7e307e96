import type { ImportResult, Imports } from "./import.ts";
import type { InventoryItem } from "./inventory.ts";
import type { FoundKey, Key, KeySettings } from "./key.ts";
import type { Usage } from "./limits.ts";
import type { Order, OrderStatus } from "./order.ts";
import type { Pet, PetStatus, StockedPet } from "./pet.ts";
import type { Plan } from "./plan.ts";

/**
 * Where everything is kept. A backend is whole or absent: it passes all of `test/storage/suite.ts`.
 *
 * Every method may throw `UNAVAILABLE` when the medium is busy, full or failing; other errors are named where they
 * can occur. A write that has resolved is durable, and is seen by every later read, of other processes too.
 */
export interface Store extends PetStore, OrderStore, KeyStore, UsageStore {
  /**
   * Puts all of the pets and orders in, or none of them: what their iterables throw is thrown on, with nothing changed.
   * A whole record takes the place of the one with its id, a pet's stock included. One with some of its fields changes
   * these alone, and throws `UnknownRecordError` when there is none with its id. Of several with the same id the later
   * go over the former. An order may name a pet that is not in the store. Slow input keeps nobody else from writing.
   */
  importAll(imports: Imports): Promise<ImportResult>;
  /**
   * Writes a consistent copy of the store to a new file, while others go on reading and writing. `report` hears now and
   * then how far it has come. Throws when the file exists already, or cannot be written.
   */
  backup(file: string, report?: ReportProgress): Promise<void>;
  /** Notes a backup that was taken, for all who use the store: it replaces the one before. */
  recordBackup(backup: BackupRecord): Promise<void>;
  /** The backup that was noted last; undefined when there was none. */
  lastBackup(): Promise<BackupRecord | undefined>;
  /** How much room the store takes, and how much there is left. */
  space(): Promise<StoreSpace>;
  /**
   * A number that changes when the store has been written to by others: by another process, or by an import. What this
   * store itself updates leaves it. It tells when a cache of what the store holds is out of date.
   */
  externalChangeToken(): Promise<number>;
  /** Gives back what is held. The store must not be used afterwards. */
  close(): Promise<void>;
}

/** A backup of a store. */
export interface BackupRecord {
  /** The time of which it is, in milliseconds since the Unix epoch: what was written later is not in it. */
  readonly takenAtMs: number;
  readonly bytes: number;
}

/** The room of a store, in bytes. */
export interface StoreSpace {
  readonly dataBytes: number;
  /** What was written, and stands in a log beside the data until it is merged. */
  readonly logBytes: number;
  /** What is left for the store. */
  readonly freeBytes: number;
  /** The size of all that the store shares with others: of its file system. */
  readonly capacityBytes: number;
}

/** Hears how far long work has come: how much is done, and of how much. The unit is the work's own. */
export type ReportProgress = (done: number, total: number) => void;

/** Which entries of a list to return: those with an id above `after`, in ascending order, `limit` at most. */
export interface ListQuery<Status> {
  /** Only entries with one of these; empty for all. */
  readonly statuses: readonly Status[];
  readonly after: bigint | undefined;
  readonly limit: number | undefined;
}

/** The pets and their stock. */
export interface PetStore {
  listInventory(query: ListQuery<PetStatus>): Promise<InventoryItem[]>;
  /** Sets the stock count of a pet, and nothing else. Throws `PET_NOT_FOUND`. */
  updateInventory(petId: bigint, quantity: bigint): Promise<InventoryItem>;
  /** Throws `PET_NOT_FOUND`. */
  getPet(id: bigint): Promise<Pet>;
  /** All pets by ascending id, as of one moment. */
  exportPets(): AsyncIterable<StockedPet>;
  countPets(): Promise<number>;
}

/** The orders. */
export interface OrderStore {
  listOrders(query: ListQuery<OrderStatus>): Promise<Order[]>;
  /** All orders by ascending id, as of one moment. */
  exportOrders(): AsyncIterable<Order>;
  countOrders(): Promise<number>;
}

/** The API keys. Secrets are given as their SHA-256, and never seen here. */
export interface KeyStore {
  /** The key's `lastUsedAtMs` is passed over: it comes from `saveUsage`. */
  createKey(key: Key, secretHash: Uint8Array): Promise<void>;
  /** Takes the same time for any number of keys. Undefined when no secret has this hash. */
  findKey(secretHash: Uint8Array): Promise<FoundKey | undefined>;
  /** Undefined when no key has this id. */
  getKey(id: string): Promise<Key | undefined>;
  /** All keys, in the order of their creation. */
  listKeys(): Promise<Key[]>;
  /** How many keys there are on each plan that are neither revoked nor, at a time, expired. */
  countKeys(atMs: number): Promise<KeyCounts>;
  /** Adds a secret to a key; its present ones go on until `oldSecretsExpireAtMs`, or their own end if that is sooner. */
  rotateKey(id: string, secretHash: Uint8Array, oldSecretsExpireAtMs: number): Promise<KeyOutcome>;
  /** Revokes a key for good. */
  revokeKey(id: string, revokedAtMs: number): Promise<KeyOutcome>;
  /** Adds one to the key's `unbans`. */
  unbanKey(id: string): Promise<KeyOutcome>;
  /**
   * Gives a key other settings. `former` is the key as it was read: when its settings have changed since, the outcome
   * is `stale`, so that no change of another process is undone. Usage, bans and secrets stay.
   */
  updateKey(former: Key, settings: KeySettings): Promise<KeyOutcome>;
}

/**
 * What has become of a change of a key, and the key as it stands now. Nothing has changed unless it is `done`: a key
 * that was revoked before takes no change, and no key has an `unknown` id.
 */
export type KeyOutcome =
  | { readonly outcome: "done" | "revoked" | "stale"; readonly key: Key }
  | { readonly outcome: "unknown" };

/** A number of keys for each plan. */
export type KeyCounts = Readonly<Record<Plan, number>>;

/** What is known of the use of a key. */
export interface KeyUsage {
  readonly keyId: string;
  readonly usage: Usage;
  readonly lastUsedAtMs: number;
  /**
   * When the key last called each deprecated method, in milliseconds since the Unix epoch, by the method's full name.
   */
  readonly deprecatedCalls?: ReadonlyMap<string, number> | undefined;
}

/** The counters and bans of the keys. */
export interface UsageStore {
  /** Undefined when nothing was saved for this key. */
  loadUsage(keyId: string): Promise<Usage | undefined>;
  /** All that is known of the use of a key. Undefined when nothing was saved for it. */
  getUsage(keyId: string): Promise<KeyUsage | undefined>;
  /** The usage of all keys that have any, in no order. */
  listUsage(): Promise<KeyUsage[]>;
  /**
   * Saves all of them or none; deprecated calls of which they tell nothing stay. Those of keys that no longer exist are
   * passed over.
   */
  saveUsage(usages: Iterable<KeyUsage>): Promise<void>;
}
