import { isDeepStrictEqual } from "node:util";
import type {
  ImportResult,
  Imports,
  InventoryItem,
  Order,
  OrderStatus,
  Pet,
  StockedPet,
} from "../../domain/catalog.ts";
import { petNotFound, storeUnavailable } from "../../domain/errors.ts";
import type { ChangePage, ChangeQuery, HistoryBounds } from "../../domain/history.ts";
import type { Hold, HoldEnding, HoldRequest } from "../../domain/hold.ts";
import type { FoundKey, Key, KeySettings } from "../../domain/key.ts";
import type { Usage } from "../../domain/limits.ts";
import { type Availability, entryOf, type StockCommand, type StockEntry } from "../../domain/stock.ts";
import type {
  BatchOutcome,
  ChangeTokens,
  CommittedChanges,
  HoldQuery,
  InventoryQuery,
  KeyCounts,
  KeyCreation,
  KeyOutcome,
  KeyUsage,
  ListedHold,
  ListQuery,
  ProgressStep,
  Store,
  StoreGauge,
  UsageSave,
  WriteContext,
  Written,
} from "../../domain/store.ts";
import type { DeliveryAttempt, PauseReason, Webhook, WebhookProgress } from "../../domain/webhook.ts";
import { Lane } from "../../scheduling/lane.ts";
import { abortable } from "../../scheduling/timing.ts";
import { type Connection, type ConnectionOptions, fromDriverError } from "./connection.ts";
import { type DatabaseOptions, openDatabase, prepareDatabase } from "./database.ts";
import { findOutdated, listChanges } from "./history.ts";
import { historyBounds } from "./history-bounds.ts";
import { findAvailability, getHold, listHolds } from "./holds.ts";
import { findKey, getKey, getUsage, KeyCounter, listKeys, listOldSecretEnds, listUsage, loadUsage } from "./keys.ts";
import {
  countOrders,
  countPets,
  getPet,
  iterateOrders,
  iteratePets,
  listInventory,
  listOrders,
  TurnReads,
} from "./lists.ts";
import { SqliteMaintenance } from "./maintenance/maintenance.ts";
import { findStock } from "./stock.ts";
import { stockCacheOf } from "./stock-cache.ts";
import { FileIdentity } from "./store-file.ts";
import { getWebhook, listAttempts, listReadableWebhooks, listWebhooks } from "./webhooks.ts";
import { columnsOfCommands, outcomesOfColumns } from "./writer/batch-columns.ts";
import { DirectWriter } from "./writer/direct-writer.ts";
import { Writer, type WriterOptions } from "./writer/writer.ts";
import type { StoreWriter } from "./writer/writes.ts";

/** How a store writes. */
export interface SqliteWriterOptions extends WriterOptions {
  /** Whether the caller's thread writes, and waits for the disk: for commands, which have nothing else to do. */
  readonly writesDirectly?: boolean | undefined;
}

/** Opens a store in a SQLite file, which is created or migrated first. Throws `StoreFileError`. */
export function openSqliteStore(file: string, options: DatabaseOptions & SqliteWriterOptions = {}): SqliteStore {
  const { busyTimeoutMs, committed, ended, datesWrites, writesDirectly } = options;
  const writer = { busyTimeoutMs, committed, ended, datesWrites, writesDirectly };
  return new SqliteStore(prepareDatabase(file, options), writer);
}

/**
 * How many changes of batches the writer thread has at once. It is twice as many as one batch may have, so that the
 * thread need not wait for the next batch. Other writes never wait for more changes than these.
 */
const changesAtOnce = 2_000;

/** How many changes of batches wait: some 100 MB at most, and seconds of work. */
const maxWaitingChanges = 100_000;

/**
 * How long the reader trusts the stored counters after each question for the tokens, in milliseconds. Changes by others
 * must be seen within a second.
 */
const trustMs = 750;

/** A store in one SQLite file. Reads have a connection of their own, and never wait for writes. */
export class SqliteStore implements Store {
  readonly maintenance: SqliteMaintenance;
  readonly gauges: readonly StoreGauge[];
  readonly webhookClaimMs = Infinity;
  readonly followed = this;
  readonly #path: string;
  readonly #options: ConnectionOptions;
  readonly #reader: Connection;
  readonly #reads: TurnReads;
  readonly #writer: StoreWriter;
  #tokens: ChangeTokens | undefined;
  readonly #keyCounter = new KeyCounter();
  readonly #batches = new Lane({
    width: changesAtOnce,
    bound: {
      maxWaiting: maxWaitingChanges,
      refusal: () => storeUnavailable(new Error("too many batches wait for the disk")),
    },
  });

  /** Takes the path of a prepared file: see `openSqliteStore`. */
  constructor(path: string, options: SqliteWriterOptions) {
    this.#path = path;
    this.#options = options;
    this.#reader = openDatabase(path, options);
    this.#reader.pragma("query_only = ON");
    this.#reads = new TurnReads(this.#reader);
    this.#writer = options.writesDirectly ? new DirectWriter(path, options) : new Writer(path, options);
    this.maintenance = new SqliteMaintenance(path, options, this.#reader);
    this.gauges = this.maintenance.gauges;
  }

  listInventory(query: InventoryQuery): Promise<InventoryItem[]> {
    return listInventory(this.#reads, query);
  }

  async getEntry(petId: bigint): Promise<StockEntry> {
    const stock = this.#reads.read((connection) => findStock(connection, petId));
    if (stock === undefined) {
      throw petNotFound(petId);
    }
    return entryOf(stock);
  }

  async getAvailability(petId: bigint, nowMs: number): Promise<Availability> {
    const availability = this.#reads.read((connection) => findAvailability(connection, petId, nowMs));
    if (availability === undefined) {
      throw petNotFound(petId);
    }
    return availability;
  }

  changeStock(command: StockCommand, context: WriteContext): Promise<Written<StockEntry>> {
    return this.#writer.changeStock(command, context);
  }

  changeStockInBatch(
    commands: readonly StockCommand[],
    atomic: boolean,
    context: WriteContext,
  ): Promise<Written<readonly BatchOutcome[]>> {
    const change = async (): Promise<Written<readonly BatchOutcome[]>> => {
      const columns = columnsOfCommands(commands);
      const written = await this.#writer.run("changeStockInBatch", columns, atomic, context);
      return written.isReplayed
        ? written
        : { value: outcomesOfColumns(columns.petIds, written.value), isReplayed: false };
    };
    return this.#batches.run(commands.length, change);
  }

  createHold(request: HoldRequest, context: WriteContext): Promise<Written<Hold>> {
    return this.#writer.run("createHold", request, context);
  }

  async getHold(id: string, nowMs: number): Promise<Hold> {
    return this.#reads.read((connection) => getHold(connection, id, nowMs));
  }

  async listHolds(query: HoldQuery, nowMs: number): Promise<ListedHold[]> {
    return this.#reads.read((connection) => listHolds(connection, query, nowMs));
  }

  commitHold(ending: HoldEnding, context: WriteContext): Promise<Written<Hold>> {
    return this.#writer.run("commitHold", ending, context);
  }

  releaseHold(ending: HoldEnding, context: WriteContext): Promise<Written<Hold>> {
    return this.#writer.run("releaseHold", ending, context);
  }

  async historyBounds(keptSinceMs: number): Promise<HistoryBounds> {
    return this.#reads.read((connection) => historyBounds(connection, keptSinceMs));
  }

  async listChanges(query: ChangeQuery): Promise<ChangePage> {
    return this.#reads.read((connection) => listChanges(connection, query));
  }

  /** Asks the reader first: where there is nothing to delete, nothing is written to the disk. */
  async deleteOutdated(keptSinceMs: number, nowMs: number): Promise<boolean> {
    const age = { keptSinceMs, nowMs };
    const kinds = this.#reads.read((connection) => connection.inSnapshot(() => findOutdated(connection, age)));
    const steps = await Promise.allSettled(kinds.map((kind) => this.#writer.run("deleteOutdated", kind, age)));
    const hasMore = steps.some((step) => step.status === "fulfilled" && step.value);
    const failed = steps.find((step) => step.status === "rejected");
    // The failure is told once the other kinds are done.
    if (failed !== undefined && !hasMore) {
      throw failed.reason;
    }
    return hasMore;
  }

  onChanges(listener: (changes: CommittedChanges) => void): void {
    this.#writer.onChanges(listener);
  }

  async getPet(id: bigint): Promise<Pet> {
    const pet = this.#reads.read((connection) => getPet(connection, id));
    if (pet === undefined) {
      throw petNotFound(id);
    }
    return pet;
  }

  exportPets(): AsyncIterable<StockedPet> {
    return this.#export(iteratePets);
  }

  async countPets(): Promise<number> {
    return this.#reads.read(countPets);
  }

  async listOrders(query: ListQuery<OrderStatus>): Promise<Order[]> {
    return this.#reads.read((connection) => listOrders(connection, query));
  }

  exportOrders(): AsyncIterable<Order> {
    return this.#export(iterateOrders);
  }

  async countOrders(): Promise<number> {
    return this.#reads.read(countOrders);
  }

  async importAll(imports: Imports, nowMs?: number): Promise<ImportResult> {
    // Of servers, only that of a demo imports. Without this module it starts sooner.
    const { importAll } = await import("./import.ts");
    const file = new FileIdentity(this.#path);
    const connection = openDatabase(this.#path, this.#options);
    try {
      return await importAll(connection, imports, { file, nowMs });
    } catch (error) {
      throw fromDriverError(error);
    } finally {
      connection.close();
      this.#reads.end();
    }
  }

  createKey(key: Key, secretHash: Uint8Array): Promise<KeyCreation> {
    return this.#writer.run("createKey", key, secretHash);
  }

  async findKey(secretHash: Uint8Array): Promise<FoundKey | undefined> {
    return this.#reads.read((connection) => findKey(connection, secretHash));
  }

  async getKey(id: string): Promise<Key | undefined> {
    return this.#reads.read((connection) => getKey(connection, id));
  }

  async listKeys(): Promise<Key[]> {
    return this.#reads.read(listKeys);
  }

  async listOldSecretEnds(id: string, atMs: number): Promise<number[]> {
    return this.#reads.read((connection) => listOldSecretEnds(connection, id, atMs));
  }

  async countKeys(atMs: number): Promise<KeyCounts> {
    return this.#reads.read((connection) => this.#keyCounter.count(connection, atMs, this.#tokens?.keys));
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
    return this.#reads.read((connection) => loadUsage(connection, keyId));
  }

  async getUsage(keyId: string): Promise<KeyUsage | undefined> {
    return this.#reads.read((connection) => getUsage(connection, keyId));
  }

  async listUsage(): Promise<KeyUsage[]> {
    return this.#reads.read(listUsage);
  }

  saveUsage(save: UsageSave): Promise<ReadonlyMap<string, Usage>> {
    return this.#writer.run("saveUsage", save);
  }

  createWebhook(webhook: Webhook): Promise<void> {
    return this.#writer.run("createWebhook", webhook);
  }

  async listWebhooks(): Promise<Webhook[]> {
    return this.#reads.read(listWebhooks);
  }

  async claimWebhooks(report: (reason: unknown) => void): Promise<Webhook[]> {
    return this.#reads.read((connection) => listReadableWebhooks(connection, report));
  }

  async releaseWebhooks(): Promise<void> {}

  async getWebhook(id: string): Promise<Webhook | undefined> {
    return this.#reads.read((connection) => getWebhook(connection, id));
  }

  deleteWebhook(id: string): Promise<boolean> {
    return this.#writer.run("deleteWebhook", id);
  }

  pauseWebhook(id: string, reason: PauseReason, atMs: number, judged?: WebhookProgress): Promise<Webhook | undefined> {
    return this.#writer.run("pauseWebhook", id, reason, atMs, judged);
  }

  resumeWebhook(id: string, position: bigint | undefined): Promise<Webhook | undefined> {
    return this.#writer.run("resumeWebhook", id, position);
  }

  rotateWebhookSecret(id: string, secret: string, formerEndsAtMs: number): Promise<Webhook | undefined> {
    return this.#writer.run("rotateWebhookSecret", id, secret, formerEndsAtMs);
  }

  saveProgress(id: string, step: ProgressStep): Promise<boolean> {
    return this.#writer.run("saveProgress", id, step);
  }

  async listAttempts(id: string, limit: number): Promise<DeliveryAttempt[]> {
    return this.#reads.read((connection) => listAttempts(connection, id, limit));
  }

  async changeTokens(): Promise<ChangeTokens> {
    const tokens = await this.#writer.changeTokens();
    this.#refreshReader(tokens);
    return tokens;
  }

  /**
   * A caller that polls the tokens hears of every commit by others. Between two polls the reader may trust the stored
   * counters. It also reads the changes since the last poll, so that none of its reads has to read very many.
   */
  #refreshReader(tokens: ChangeTokens): void {
    const cache = stockCacheOf(this.#reader);
    if (!isDeepStrictEqual(tokens, this.#tokens)) {
      cache.forgetRows();
    }
    this.#tokens = tokens;
    cache.trustCounters(trustMs);
    try {
      this.#reads.read(() => cache.head);
    } catch {
      // The next read tells of the failure.
    }
  }

  async now(): Promise<number> {
    return Date.now();
  }

  /** Asks both threads: reads and writes may fail independently. */
  async ready(signal?: AbortSignal): Promise<void> {
    this.#reads.read((connection) => connection.get(`SELECT 1 FROM pets LIMIT 1`));
    await abortable(() => this.changeTokens(), signal);
  }

  async close(): Promise<void> {
    await this.#batches.idle();
    await this.#writer.close();
    this.#reader.close();
  }

  /** Reads the rows of one query, as of one moment, over a connection of its own. */
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
}
