import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
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
import type { Availability, StockCommand, StockEntry } from "../../domain/stock.ts";
import type {
  BatchOutcome,
  ChangeTokens,
  ChangeTopic,
  CommittedChanges,
  CommittedGroup,
  HistoryFollowing,
  HoldQuery,
  InventoryQuery,
  KeyCounts,
  KeyCreation,
  KeyOutcome,
  KeyUsage,
  ListedHold,
  ListQuery,
  ProgressStep,
  RegisteredServer,
  RegistrationOptions,
  ServerRegistration,
  Store,
  StoreGauge,
  UsageSave,
  WriteContext,
  Written,
} from "../../domain/store.ts";
import type { DeliveryAttempt, PauseReason, Webhook, WebhookProgress } from "../../domain/webhook.ts";
import { Lane } from "../../scheduling/lane.ts";
import { abortable } from "../../scheduling/timing.ts";
import {
  anyWriter,
  ChangeListener,
  ChangeWriter,
  countChanges,
  readChangeTokens,
  retireWriter,
} from "./change-tokens.ts";
import type { Connection, Queryable } from "./connection/connection.ts";
import { type DatabaseAddress, parseDatabaseUrl } from "./connection/database-url.ts";
import { sqlStateOf, uniqueViolation } from "./connection/errors.ts";
import { Pool } from "./connection/pool.ts";
import { type PrepareOptions, prepareDatabase } from "./database.ts";
import { deleteOutdated, hasOutdated, historyBounds, listChanges } from "./history.ts";
import { findAvailability, getHold, listHolds } from "./holds.ts";
import { importAll } from "./import.ts";
import {
  countKeys,
  createKey,
  findKey,
  getKey,
  getUsage,
  listKeys,
  listOldSecretEnds,
  listUsage,
  loadUsage,
  revokeKey,
  rotateKey,
  saveUsage,
  unbanKey,
  updateKey,
} from "./keys.ts";
import {
  allOrders,
  allPets,
  countOrders,
  countPets,
  exportRows,
  findEntry,
  getPet,
  listInventory,
  listOrders,
  orderFromRow,
  stockedPetFromRow,
} from "./lists.ts";
import { assertOwnSessions, listServers, readClock, registerServer } from "./servers.ts";
import {
  claimWebhooks,
  createWebhook,
  deleteWebhook,
  getWebhook,
  listAttempts,
  listWebhooks,
  pauseWebhook,
  releaseWebhooks,
  resumeWebhook,
  rotateWebhookSecret,
  saveProgress,
  webhookClaimMs,
} from "./webhooks.ts";
import { GroupWriter } from "./writer/group-writer.ts";
import { changeStock, changeStockInBatch, commitHold, createHold, releaseHold } from "./writer/stock-writes.ts";

interface PostgresStoreOptions extends PrepareOptions {
  /** Hears of each group of writes that has been committed. */
  readonly committed?: ((group: CommittedGroup) => void) | undefined;
}

/** Opens a store in a PostgreSQL database, whose tables are made or migrated first. Throws `DatabaseError`. */
export async function openPostgresStore(url: string, options: PostgresStoreOptions = {}): Promise<PostgresStore> {
  const address = parseDatabaseUrl(url);
  await prepareDatabase(address, options);
  return new PostgresStore(address, options);
}

/** How many changes of batches are written at once: other writes wait for no more than that. */
const changesAtOnce = 2_000;

/** How many changes of batches wait: seconds of work. */
const maxWaitingChanges = 100_000;

/** How many other writes wait at most. */
const maxWaitingWrites = 1_000;

/**
 * How many connections of the pool's eight the reads for users have at most, and the look-ups of keys: change tokens,
 * heartbeats and the other writes never wait for either.
 */
const [readConnections, keyReadConnections] = [5, 2];

/** How many look-ups of keys wait at most. */
const maxWaitingKeyReads = 1_000;

/** A store in a PostgreSQL database, which several servers may share. */
export class PostgresStore implements Store {
  readonly maintenance = undefined;
  readonly webhookClaimMs = webhookClaimMs;
  readonly gauges: readonly StoreGauge[] = [];
  /** Those who follow make a few small reads at a time. So these may use any connection of the pool. */
  readonly followed: HistoryFollowing = {
    historyBounds: (keptSinceMs) => historyBounds(this.#pool, keptSinceMs),
    listChanges: (query) => listChanges(this.#pool, query),
    onChanges: (listener) => this.onChanges(listener),
  };
  readonly #address: DatabaseAddress;
  readonly #pool: Pool;
  /** For what users ask: a single call may take long. */
  readonly #reads: Queryable;
  /** For the secrets that clients send, also made-up ones. */
  readonly #keyReads: Queryable;
  readonly #groups: GroupWriter;
  #listener: ChangeListener | undefined;
  /** The database's clock, once a server is registered. */
  #clock: (() => number) | undefined;
  /**
   * The id of this store object: under it a server is registered. Machine and process are those of the server's log
   * lines. The rest makes it unique, since servers in containers may share both.
   */
  readonly #id = `${hostname().replaceAll(/[^\w.-]/g, "_")}/${process.pid}/${randomBytes(6).toString("hex")}`;
  readonly #writer = new ChangeWriter(this.#id);
  readonly #batches = new Lane({
    width: changesAtOnce,
    bound: {
      maxWaiting: maxWaitingChanges,
      refusal: () => storeUnavailable(new Error("too many batches wait for the database")),
    },
  });

  /** The writes besides those of stock and holds, one by one. */
  readonly #rareWrites = new Lane({
    width: 1,
    bound: {
      maxWaiting: maxWaitingWrites,
      refusal: () => storeUnavailable(new Error("too many writes wait for the database")),
    },
  });

  /** Takes the address of a prepared database: see `openPostgresStore`. */
  constructor(address: DatabaseAddress, { committed }: PostgresStoreOptions) {
    this.#address = address;
    this.#pool = new Pool(address);
    this.#reads = this.#pool.narrowed(readConnections);
    this.#keyReads = this.#pool.narrowed(keyReadConnections, maxWaitingKeyReads);
    this.#groups = new GroupWriter(address, { writer: this.#writer, committed, clock: () => this.#clock?.() ?? 0 });
  }

  listInventory(query: InventoryQuery): Promise<InventoryItem[]> {
    return listInventory(this.#reads, query);
  }

  async getEntry(petId: bigint): Promise<StockEntry> {
    const entry = await findEntry(this.#reads, petId);
    if (entry === undefined) {
      throw petNotFound(petId);
    }
    return entry;
  }

  async getAvailability(petId: bigint, nowMs: number): Promise<Availability> {
    const availability = await findAvailability(this.#reads, petId, nowMs);
    if (availability === undefined) {
      throw petNotFound(petId);
    }
    return availability;
  }

  changeStock(command: StockCommand, context: WriteContext): Promise<Written<StockEntry>> {
    return this.#groups.run(changeStock(command, context));
  }

  changeStockInBatch(
    commands: readonly StockCommand[],
    atomic: boolean,
    context: WriteContext,
  ): Promise<Written<readonly BatchOutcome[]>> {
    const task = changeStockInBatch(commands, atomic, context);
    return this.#batches.run(commands.length, () => this.#groups.run(task));
  }

  createHold(request: HoldRequest, context: WriteContext): Promise<Written<Hold>> {
    return this.#groups.run(createHold(request, context));
  }

  getHold(id: string, nowMs: number): Promise<Hold> {
    return getHold(this.#reads, id, nowMs);
  }

  listHolds(query: HoldQuery, nowMs: number): Promise<ListedHold[]> {
    return listHolds(this.#reads, query, nowMs);
  }

  commitHold(ending: HoldEnding, context: WriteContext): Promise<Written<Hold>> {
    return this.#groups.run(commitHold(ending, context));
  }

  releaseHold(ending: HoldEnding, context: WriteContext): Promise<Written<Hold>> {
    return this.#groups.run(releaseHold(ending, context));
  }

  historyBounds(keptSinceMs: number): Promise<HistoryBounds> {
    return historyBounds(this.#reads, keptSinceMs);
  }

  listChanges(query: ChangeQuery): Promise<ChangePage> {
    return listChanges(this.#reads, query);
  }

  onChanges(listener: (changes: CommittedChanges) => void): void {
    this.#groups.onChanges(listener);
  }

  /** Asks without a lock first: mostly there is nothing to delete. */
  async deleteOutdated(keptSinceMs: number, nowMs: number): Promise<boolean> {
    return (
      (await hasOutdated(this.#pool, keptSinceMs, nowMs)) &&
      (await this.#pool.transaction((connection) => deleteOutdated(connection, keptSinceMs, nowMs)))
    );
  }

  async getPet(id: bigint): Promise<Pet> {
    const pet = await getPet(this.#reads, id);
    if (pet === undefined) {
      throw petNotFound(id);
    }
    return pet;
  }

  exportPets(): AsyncIterable<StockedPet> {
    return exportRows(this.#address, allPets, stockedPetFromRow);
  }

  countPets(): Promise<number> {
    return countPets(this.#pool);
  }

  listOrders(query: ListQuery<OrderStatus>): Promise<Order[]> {
    return listOrders(this.#reads, query);
  }

  exportOrders(): AsyncIterable<Order> {
    return exportRows(this.#address, allOrders, orderFromRow);
  }

  countOrders(): Promise<number> {
    return countOrders(this.#pool);
  }

  importAll(imports: Imports, nowMs?: number): Promise<ImportResult> {
    return importAll(this.#address, imports, nowMs);
  }

  createKey(key: Key, secretHash: Uint8Array): Promise<KeyCreation> {
    const creation = this.#change("keys", (connection) => createKey(connection, key, secretHash));
    // Another server may take the same secret at the same time.
    return creation.catch((error: unknown) => {
      if (sqlStateOf(error) === uniqueViolation) {
        return "taken";
      }
      throw error;
    });
  }

  findKey(secretHash: Uint8Array): Promise<FoundKey | undefined> {
    return findKey(this.#keyReads, secretHash);
  }

  getKey(id: string): Promise<Key | undefined> {
    return getKey(this.#pool, id);
  }

  listKeys(): Promise<Key[]> {
    return listKeys(this.#pool);
  }

  listOldSecretEnds(id: string, atMs: number): Promise<number[]> {
    return listOldSecretEnds(this.#pool, id, atMs);
  }

  countKeys(atMs: number): Promise<KeyCounts> {
    return countKeys(this.#pool, atMs);
  }

  rotateKey(id: string, secretHash: Uint8Array, oldSecretsExpireAtMs: number): Promise<KeyOutcome> {
    return this.#change("keys", (connection) => rotateKey(connection, id, secretHash, oldSecretsExpireAtMs));
  }

  revokeKey(id: string, revokedAtMs: number): Promise<KeyOutcome> {
    return this.#change("keys", (connection) => revokeKey(connection, id, revokedAtMs));
  }

  unbanKey(id: string): Promise<KeyOutcome> {
    return this.#change("keys", (connection) => unbanKey(connection, id));
  }

  updateKey(former: Key, settings: KeySettings): Promise<KeyOutcome> {
    return this.#change("keys", (connection) => updateKey(connection, former, settings));
  }

  loadUsage(keyId: string): Promise<Usage | undefined> {
    return loadUsage(this.#pool, keyId);
  }

  getUsage(keyId: string): Promise<KeyUsage | undefined> {
    return getUsage(this.#pool, keyId);
  }

  listUsage(): Promise<KeyUsage[]> {
    return listUsage(this.#pool);
  }

  saveUsage(save: UsageSave): Promise<ReadonlyMap<string, Usage>> {
    return this.#change("usage", (connection) => saveUsage(connection, save));
  }

  createWebhook(webhook: Webhook): Promise<void> {
    return this.#change("webhooks", (connection) => createWebhook(connection, webhook));
  }

  listWebhooks(): Promise<Webhook[]> {
    return listWebhooks(this.#pool);
  }

  claimWebhooks(): Promise<Webhook[]> {
    return claimWebhooks(this.#pool, this.#id);
  }

  releaseWebhooks(): Promise<void> {
    return releaseWebhooks(this.#pool, this.#id);
  }

  getWebhook(id: string): Promise<Webhook | undefined> {
    return getWebhook(this.#pool, id);
  }

  deleteWebhook(id: string): Promise<boolean> {
    return this.#change("webhooks", (connection) => deleteWebhook(connection, id));
  }

  pauseWebhook(id: string, reason: PauseReason, atMs: number, judged?: WebhookProgress): Promise<Webhook | undefined> {
    const pause = { reason, atMs, judged };
    return this.#change("webhooks", (connection) => pauseWebhook(connection, this.#id, id, pause));
  }

  resumeWebhook(id: string, position: bigint | undefined): Promise<Webhook | undefined> {
    return this.#change("webhooks", (connection) => resumeWebhook(connection, id, position));
  }

  rotateWebhookSecret(id: string, secret: string, formerEndsAtMs: number): Promise<Webhook | undefined> {
    return this.#change("webhooks", (connection) => rotateWebhookSecret(connection, id, secret, formerEndsAtMs));
  }

  saveProgress(id: string, step: ProgressStep): Promise<boolean> {
    return this.#rareWrites.run(1, () =>
      this.#pool.transaction((connection) => saveProgress(connection, this.#id, id, step)),
    );
  }

  listAttempts(id: string, limit: number): Promise<DeliveryAttempt[]> {
    return listAttempts(this.#pool, id, limit);
  }

  changeTokens(): Promise<ChangeTokens> {
    return readChangeTokens(this.#pool, this.#writer.name);
  }

  /** Uses notifications. With `listen=off` it never calls back. */
  onOthersChange(listener: () => void): void {
    if (this.#address.usesNotifications) {
      this.#listener ??= new ChangeListener(this.#address, this.#writer, listener);
    }
  }

  now(): Promise<number> {
    return readClock(this.#pool);
  }

  async ready(signal?: AbortSignal): Promise<void> {
    await abortable(() => this.changeTokens(), signal);
  }

  async listServers(): Promise<RegisteredServer[]> {
    const servers = await listServers(this.#pool);
    return servers.map((server) => ({ ...server, isSelf: server.id === this.#id }));
  }

  /**
   * Throws `DatabaseError` while another server uses the store, and one of the two must be the only one, and where a
   * pooler pools transactions.
   */
  async registerServer(options: RegistrationOptions): Promise<ServerRegistration> {
    const { shown } = this.#address;
    await assertOwnSessions(this.#pool, shown);
    const server = { id: this.#id, shown };
    const registration = await registerServer(this.#pool, server, options);
    this.#clock = registration.clock;
    return registration;
  }

  async close(): Promise<void> {
    await this.#listener?.close();
    await this.#batches.idle();
    await this.#rareWrites.idle();
    await this.#groups.close();
    // Where the database cannot be reached, nothing is lost: the counts stay as they are.
    await this.#pool.query(retireWriter, this.#id, anyWriter).catch(() => {});
    await this.#pool.close();
  }

  /** Writes data that servers keep in memory, and counts a change of its topic. These writes run one by one. */
  #change<T>(topic: ChangeTopic, write: (connection: Connection) => Promise<T>): Promise<T> {
    const change = () =>
      this.#pool.transaction(async (connection) => {
        const value = await write(connection);
        // Servers read the usage of keys with their own next save, so nobody waits for it.
        await countChanges(connection, { writer: this.#writer.name, notifies: topic !== "usage" }, topic, 1);
        return value;
      });
    return this.#rareWrites.run(1, change);
  }
}
