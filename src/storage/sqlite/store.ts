import { petNotFound } from "../../domain/errors.ts";
import type { ImportResult, Imports } from "../../domain/import.ts";
import type { InventoryItem } from "../../domain/inventory.ts";
import type { FoundKey, Key, KeySettings } from "../../domain/key.ts";
import type { Usage } from "../../domain/limits.ts";
import type { Order, OrderStatus } from "../../domain/order.ts";
import type { Pet, PetStatus, StockedPet } from "../../domain/pet.ts";
import type {
  BackupRecord,
  KeyCounts,
  KeyOutcome,
  KeyUsage,
  ListQuery,
  ReportProgress,
  Store,
  StoreSpace,
} from "../../domain/store.ts";
import type { Connection, ConnectionOptions } from "./connection.ts";
import { type DatabaseOptions, openDatabase, prepareDatabase } from "./database.ts";
import { fromDriverError } from "./driver-error.ts";
import { importAll } from "./import/import.ts";
import { countKeys, findKey, getKey, listKeys } from "./keys.ts";
import { lastBackup } from "./last-backup.ts";
import { assertOutside, backUp } from "./maintenance/backup.ts";
import { countOrders, iterateOrders, listOrders } from "./orders.ts";
import { countPets, getPet, iteratePets, listInventory } from "./pets.ts";
import { measureSpace } from "./space.ts";
import { getUsage, listUsage, loadUsage } from "./usage.ts";
import { Writer, type WriterOptions } from "./writer.ts";

/** Opens a store in a SQLite file, which is created or migrated first. Throws `StoreFileError`. */
export function openSqliteStore(file: string, options: DatabaseOptions & WriterOptions = {}): SqliteStore {
  return new SqliteStore(prepareDatabase(file, options), options);
}

/** A store in one SQLite file. Reads have a connection of their own, and never wait for writes. */
export class SqliteStore implements Store {
  readonly #path: string;
  readonly #options: ConnectionOptions;
  readonly #reader: Connection;
  readonly #writer: Writer;

  /** Takes the path of a prepared file: see `openSqliteStore`. */
  constructor(path: string, options: WriterOptions) {
    this.#path = path;
    this.#options = options;
    this.#reader = openDatabase(path, options);
    this.#reader.pragma("query_only = ON");
    this.#writer = new Writer(path, options);
  }

  async listInventory(query: ListQuery<PetStatus>): Promise<InventoryItem[]> {
    return this.#read((connection) => listInventory(connection, query));
  }

  async updateInventory(petId: bigint, quantity: bigint): Promise<InventoryItem> {
    const status = await this.#writer.update(petId, quantity);
    if (status === undefined) {
      throw petNotFound(petId);
    }
    return { petId, quantity, status };
  }

  async getPet(id: bigint): Promise<Pet> {
    const pet = this.#read((connection) => getPet(connection, id));
    if (pet === undefined) {
      throw petNotFound(id);
    }
    return pet;
  }

  exportPets(): AsyncIterable<StockedPet> {
    return this.#export(iteratePets);
  }

  async countPets(): Promise<number> {
    return this.#read(countPets);
  }

  async listOrders(query: ListQuery<OrderStatus>): Promise<Order[]> {
    return this.#read((connection) => listOrders(connection, query));
  }

  exportOrders(): AsyncIterable<Order> {
    return this.#export(iterateOrders);
  }

  async countOrders(): Promise<number> {
    return this.#read(countOrders);
  }

  importAll(imports: Imports): Promise<ImportResult> {
    return this.#alone((connection) => importAll(connection, imports));
  }

  createKey(key: Key, secretHash: Uint8Array): Promise<void> {
    return this.#writer.run("createKey", key, secretHash);
  }

  async findKey(secretHash: Uint8Array): Promise<FoundKey | undefined> {
    return this.#read((connection) => findKey(connection, secretHash));
  }

  async getKey(id: string): Promise<Key | undefined> {
    return this.#read((connection) => getKey(connection, id));
  }

  async listKeys(): Promise<Key[]> {
    return this.#read(listKeys);
  }

  async countKeys(atMs: number): Promise<KeyCounts> {
    return this.#read((connection) => countKeys(connection, atMs));
  }

  rotateKey(id: string, secretHash: Uint8Array, oldSecretsExpireAtMs: number): Promise<KeyOutcome> {
    return this.#writer.run("rotateKey", id, secretHash, oldSecretsExpireAtMs);
  }

  revokeKey(id: string, revokedAtMs: number): Promise<KeyOutcome> {
    return this.#writer.run("revokeKey", id, revokedAtMs);
  }

  unbanKey(id: string): Promise<KeyOutcome> {
    return this.#writer.run("unbanKey", id);
  }

  updateKey(former: Key, settings: KeySettings): Promise<KeyOutcome> {
    return this.#writer.run("updateKey", former, settings);
  }

  async loadUsage(keyId: string): Promise<Usage | undefined> {
    return this.#read((connection) => loadUsage(connection, keyId));
  }

  async getUsage(keyId: string): Promise<KeyUsage | undefined> {
    return this.#read((connection) => getUsage(connection, keyId));
  }

  async listUsage(): Promise<KeyUsage[]> {
    return this.#read(listUsage);
  }

  saveUsage(usages: Iterable<KeyUsage>): Promise<void> {
    return this.#writer.run("saveUsage", [...usages]);
  }

  externalChangeToken(): Promise<number> {
    return this.#writer.run("externalChangeToken");
  }

  async backup(file: string, report?: ReportProgress): Promise<void> {
    assertOutside(this.#path, file);
    return this.#alone((connection) => backUp(connection, file, report));
  }

  recordBackup(backup: BackupRecord): Promise<void> {
    return this.#writer.run("recordBackup", backup);
  }

  async lastBackup(): Promise<BackupRecord | undefined> {
    return this.#read(lastBackup);
  }

  space(): Promise<StoreSpace> {
    return measureSpace(this.#path);
  }

  async close(): Promise<void> {
    await this.#writer.close();
    this.#reader.close();
  }

  #read<T>(work: (connection: Connection) => T): T {
    try {
      return work(this.#reader);
    } catch (error) {
      throw fromDriverError(error);
    }
  }

  /** Gives what one query reads, as of one moment, over a connection of its own. */
  async *#export<Item>(iterate: (connection: Connection) => Iterable<Item>): AsyncGenerator<Item> {
    const connection = openDatabase(this.#path, this.#options);
    try {
      yield* iterate(connection);
    } catch (error) {
      throw fromDriverError(error);
    } finally {
      connection.close();
    }
  }

  /** Does long work over a connection of its own. */
  async #alone<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = openDatabase(this.#path, this.#options);
    try {
      return await work(connection);
    } catch (error) {
      throw fromDriverError(error);
    } finally {
      connection.close();
    }
  }
}
