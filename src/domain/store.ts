import type {
  ImportResult,
  Imports,
  InventoryItem,
  Order,
  OrderStatus,
  Pet,
  PetStatus,
  StockedPet,
} from "./catalog.ts";
import type { ChangePage, ChangeQuery, HistoryBounds } from "./history.ts";
import type { Hold, HoldEnding, HoldRequest, HoldState } from "./hold.ts";
import type { Idempotency } from "./idempotency.ts";
import type { FoundKey, Key, KeySettings, Plan } from "./key.ts";
import type { Usage } from "./limits.ts";
import type { Availability, StockCommand, StockEntry, StockRefusal } from "./stock.ts";
import type { DeliveryAttempt, PauseReason, Webhook, WebhookProgress } from "./webhook.ts";

/**
 * Keeps all data of the service. A backend passes all of `test/storage/suite.ts`.
 *
 * Every method may reject with `UNAVAILABLE`: the medium is busy, full or failing, or cannot be reached. A write that
 * rejects so may still take effect. Other errors are named where they can occur. A write that has resolved is durable,
 * and every later read sees it, on every server. A read of another store object in this process sees it from the next
 * turn of the event loop on.
 */
export interface Store extends PetStore, StockStore, OrderStore, KeyStore, UsageStore, WebhookStore {
  /**
   * Imports all of the pets and orders, or none of them. An error of an iterable is rethrown.
   *
   * A whole record replaces the one with its id, a pet's stock included. A record with some of its fields changes these
   * alone; it throws `UnknownRecordError` where no record has its id. Of several records with one id the later wins. An
   * order may name a pet that is not in the store. Others can write while the input is read. The history gets one
   * change for each pet whose quantity or status is written, even if the quantity stays the same. Their time is that of
   * the writing by the clock of the store, unless a test gives `nowMs`.
   */
  importAll(imports: Imports, nowMs?: number): Promise<ImportResult>;
  /**
   * The time by the clock of the store, in milliseconds since the Unix epoch. The machines that share a store may have
   * other times.
   */
  now(): Promise<number>;
  /** Resolves when the store answers reads and takes writes. Rejects with the reason of `signal` when that aborts. */
  ready(signal?: AbortSignal): Promise<void>;
  /** Tells which data others have changed. Caches of this data are out of date. */
  changeTokens(): Promise<ChangeTokens>;
  /**
   * Calls back soon after others have changed data. The change tokens then tell which data. Undefined for a backend
   * that gets no notifications.
   */
  readonly onOthersChange?: (listener: () => void) => void;
  /**
   * Lists the servers that use the store. Undefined for a backend that only one server can use, as is `registerServer`.
   */
  readonly listServers?: () => Promise<RegisteredServer[]>;
  /**
   * Registers a server. Rejects, with a line for the operator, while another server uses the store and one of the two
   * must be the only one.
   */
  readonly registerServer?: (options: RegistrationOptions) => Promise<ServerRegistration>;
  /** Undefined for a backend that is maintained by its own tools. */
  readonly maintenance: StoreMaintenance | undefined;
  /** The metrics of the backend. */
  readonly gauges: readonly StoreGauge[];
  /** Waits for writes under way, and releases all resources. The store must not be used afterwards. */
  close(): Promise<void>;
}

/** The data that servers keep in memory: API keys, pets and orders, the usage of keys, webhooks. */
export type ChangeTopic = "keys" | "stock" | "usage" | "webhooks";

/**
 * A token for each topic. The token changes when others have changed data of the topic: another server, a command, or
 * an import of this process. Other writes of this store object do not change its tokens.
 */
export type ChangeTokens = Readonly<Record<ChangeTopic, number>> & {
  /**
   * Changes when the data may have changed in a way that the history does not tell of, such as by SQLite's shell. The
   * tokens of all topics change, too. Undefined for a backend that does not find that out.
   */
  readonly uncounted?: number;
};

/** A server that uses a store which several servers may share. */
export interface RegisteredServer {
  /** Names the machine and the process: `host/pid/` and random digits. Opaque to programs. */
  readonly id: string;
  /** The version of the program. */
  readonly version: string;
  /** Milliseconds since the Unix epoch, by the store's clock, as is `lastSeenAtMs`. */
  readonly startedAtMs: number;
  /** When the server last told the store that it lives. */
  readonly lastSeenAtMs: number;
  /** Whether it is the server that asks. Undefined where no server asks. */
  readonly isSelf?: boolean;
}

/** The registration of a server among those that use a store. */
export interface ServerRegistration {
  readonly id: string;
  /** The store's clock, in milliseconds since the Unix epoch. All servers of the store use it. */
  readonly clock: () => number;
  /** Ends the registration. */
  release(): Promise<void>;
}

/** How a server registers. */
export interface RegistrationOptions {
  readonly version: string;
  /** Whether the server counts limits in its own memory. Such a server must be the only one. */
  readonly countsAlone: boolean;
  /** Called when another server has taken the place of this one. This server must then stop. */
  readonly replaced: () => void;
}

/** Whether a location is the URL of a PostgreSQL database. Any other location is a file. */
export function isPostgresUrl(location: string): boolean {
  return /^postgres(ql)?:/i.test(location);
}

/** What follows the history of a store. */
export type HistoryFollowing = Pick<StockStore, "historyBounds" | "listChanges" | "onChanges">;

/**
 * Keeps the stock of the pets, the holds on it, and the history of its changes.
 *
 * Each write is one transaction. It decides on the stored rows by the rules of `stock.ts` and `hold.ts`, and writes
 * entry, version, history and idempotency record together. Besides the errors named, every write throws
 * `IDEMPOTENCY_KEY_REUSED`.
 */
export interface StockStore {
  listInventory(query: InventoryQuery): Promise<InventoryItem[]>;
  /** Throws `PET_NOT_FOUND`. */
  getEntry(petId: bigint): Promise<StockEntry>;
  /** Throws `PET_NOT_FOUND`. */
  getAvailability(petId: bigint, nowMs: number): Promise<Availability>;
  /** Throws `PET_NOT_FOUND`, `PRECONDITION_FAILED`, `INSUFFICIENT_STOCK` and `QUANTITY_OUT_OF_RANGE`. */
  changeStock(command: StockCommand, context: WriteContext): Promise<Written<StockEntry>>;
  /**
   * Makes changes in their order, in one commit. With `atomic` it throws the error of the first refusal, and changes
   * nothing. The message then begins with the place of the change, such as `changes[3]: ` for the fourth one. Without
   * `atomic`, the other changes are made.
   */
  changeStockInBatch(
    commands: readonly StockCommand[],
    atomic: boolean,
    context: WriteContext,
  ): Promise<Written<readonly BatchOutcome[]>>;

  /** Throws `PET_NOT_FOUND` and `INSUFFICIENT_STOCK`. */
  createHold(request: HoldRequest, context: WriteContext): Promise<Written<Hold>>;
  /** Throws `HOLD_NOT_FOUND`. The state is that at `nowMs`. */
  getHold(id: string, nowMs: number): Promise<Hold>;
  /** By descending `position`, at most `limit`. The states are those at `nowMs`. */
  listHolds(query: HoldQuery, nowMs: number): Promise<ListedHold[]>;
  /** Throws `HOLD_NOT_FOUND`, `HOLD_ENDED` and `QUANTITY_OUT_OF_RANGE`. */
  commitHold(ending: HoldEnding, context: WriteContext): Promise<Written<Hold>>;
  /** Throws `HOLD_NOT_FOUND` and `HOLD_ENDED`. */
  releaseHold(ending: HoldEnding, context: WriteContext): Promise<Written<Hold>>;

  /**
   * How far the history goes. Changes before `keptSinceMs` are no longer part of it, even if they have not been deleted
   * yet.
   */
  historyBounds(keptSinceMs: number): Promise<HistoryBounds>;
  /** Throws `PET_NOT_FOUND` when one of the pets does not exist. */
  listChanges(query: ChangeQuery): Promise<ChangePage>;
  /** The history for what a server itself follows: there it never waits for reads of users. */
  readonly followed: HistoryFollowing;
  /**
   * Calls back with each group of changes that this store object has committed, in their order, before the callers'
   * promises resolve. Imports are left out.
   */
  onChanges(listener: (changes: CommittedChanges) => void): void;
  /**
   * Deletes some outdated rows: changes and ended holds from before `keptSinceMs`, and idempotency records that have
   * expired at `nowMs`. Each call is short, so that it delays nobody. Resolves to whether there may be more to delete.
   */
  deleteOutdated(keptSinceMs: number, nowMs: number): Promise<boolean>;
}

/** Selects stock entries. */
export interface InventoryQuery extends ListQuery<PetStatus> {
  /**
   * Lists the entries as of this revision: with the quantities that this change left, and without pets that are newer.
   * Statuses are the present ones. Undefined for the newest revision.
   */
  readonly asOf?: bigint | undefined;
}

/** Who makes a write, and when. */
export interface WriteContext {
  /**
   * Milliseconds since the Unix epoch. It is the time of the change, and holds that expire by then are over. In a server
   * the change happens later if it has to wait.
   */
  readonly nowMs: number;
  readonly keyId: string;
  readonly requestId: string;
  /** The identity under which the write is done once. Undefined for a write that is done each time it is sent. */
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
  /** The lineage of the history that has them. */
  readonly lineage: string;
  /** The revision of the last one. */
  readonly revision: bigint;
  /** The pets, one for each change, in the order of revisions. */
  readonly petIds: readonly bigint[];
}

/** Selects entries of a list: those with an id above `after`, by ascending id, at most `limit`. */
export interface ListQuery<Status> {
  /** Only entries with one of these statuses; empty for all. */
  readonly statuses: readonly Status[];
  readonly after: bigint | undefined;
  readonly limit: number | undefined;
}

/** Keeps the pets. */
export interface PetStore {
  /** Throws `PET_NOT_FOUND`. */
  getPet(id: bigint): Promise<Pet>;
  /** All pets by ascending id, as of one moment. */
  exportPets(): AsyncIterable<StockedPet>;
  countPets(): Promise<number>;
}

/** Keeps the orders. */
export interface OrderStore {
  listOrders(query: ListQuery<OrderStatus>): Promise<Order[]>;
  /** All orders by ascending id, as of one moment. */
  exportOrders(): AsyncIterable<Order>;
  countOrders(): Promise<number>;
}

/** Keeps the API keys. Of a secret it has only the SHA-256. */
export interface KeyStore {
  /** Ignores the key's `lastUsedAtMs`, which comes from `saveUsage`. */
  createKey(key: Key, secretHash: Uint8Array): Promise<KeyCreation>;
  /** Takes the same time for any number of keys. Undefined when no secret has this hash. */
  findKey(secretHash: Uint8Array): Promise<FoundKey | undefined>;
  /** Undefined when no key has this id. */
  getKey(id: string): Promise<Key | undefined>;
  /** All keys, in the order of their creation. */
  listKeys(): Promise<Key[]>;
  /**
   * The ends of a key's old secrets, in milliseconds since the Unix epoch, ascending. Only secrets that still work at
   * `atMs` count. A secret ends at the expiry of its key at the latest, and no secret of a revoked key works.
   */
  listOldSecretEnds(id: string, atMs: number): Promise<number[]>;
  /** Counts the keys of each plan that are not revoked, and have not expired at `atMs`. */
  countKeys(atMs: number): Promise<KeyCounts>;
  /**
   * Adds a secret to a key. Its present secrets work on until `oldSecretsExpireAtMs`, or until their own end if that is
   * sooner.
   */
  rotateKey(id: string, secretHash: Uint8Array, oldSecretsExpireAtMs: number): Promise<KeyOutcome>;
  /** Revokes a key for good. */
  revokeKey(id: string, revokedAtMs: number): Promise<KeyOutcome>;
  /** Adds one to the key's `unbans`. */
  unbanKey(id: string): Promise<KeyOutcome>;
  /**
   * Gives a key other settings. `former` is the key as the caller has read it. If its settings have changed since, the
   * outcome is `stale`, so that no change of another process is undone (optimistic locking). Usage, bans and secrets
   * stay.
   */
  updateKey(former: Key, settings: KeySettings): Promise<KeyOutcome>;
}

/** Finds keys by the secrets that callers send. */
export interface KeyFinder {
  /** Undefined when no key has this secret. */
  find(secret: string): Promise<FoundKey | undefined>;
}

/**
 * The result of creating a key. `taken`: a key has this id already, or this secret, and nothing has changed. A retry of
 * a creation that failed with `UNAVAILABLE` gets `taken` where the first try took effect.
 */
export type KeyCreation = "created" | "taken";

/**
 * The result of changing a key, and the key as it is now. Only `done` has changed the key. `revoked`: a revoked key
 * takes no change. `stale`: the key has other settings than the caller has read. `taken`: a key has the new secret
 * already. `unknown`: no key has this id.
 */
export type KeyOutcome =
  | { readonly outcome: "done" | "revoked" | "stale" | "taken"; readonly key: Key }
  | { readonly outcome: "unknown" };

/** A number of keys for each plan. */
export type KeyCounts = Readonly<Record<Plan, number>>;

/** The stored usage of one key. */
export interface KeyUsage {
  readonly keyId: string;
  readonly usage: Usage;
  /** Milliseconds since the Unix epoch. */
  readonly lastUsedAtMs: number;
  /**
   * When the key last called each deprecated method, in milliseconds since the Unix epoch, by the method's full name.
   */
  readonly deprecatedCalls?: ReadonlyMap<string, number> | undefined;
}

/** The usage of one key as a server has counted it. */
export interface CountedUsage extends KeyUsage {
  /** What the server last knew to be stored; `noUsage` where nothing was. */
  readonly base: Usage;
}

/**
 * What a server has counted since its last save. A save takes effect once. If a server does not know whether a save has
 * taken effect, it repeats the same save.
 */
export interface UsageSave {
  /** Differs for each run of a server. */
  readonly server: string;
  /** Counts the server's saves, from 1. The next save has the next number. */
  readonly number: number;
  readonly usages: readonly CountedUsage[];
}

/** Keeps the counters and bans of the keys. */
export interface UsageStore {
  /** Undefined when nothing was saved for this key. */
  loadUsage(keyId: string): Promise<Usage | undefined>;
  /** Undefined when nothing was saved for this key. */
  getUsage(keyId: string): Promise<KeyUsage | undefined>;
  /** The usage of all keys that have any, in no order. */
  listUsage(): Promise<KeyUsage[]>;
  /**
   * Merges a server's counts into the stored ones as `mergeCounted` does, all of them or none. The later call of each
   * deprecated method stays. Unknown key ids are ignored.
   *
   * Resolves to the stored usage of each key for which it differs from the server's own, because other servers count
   * the key, too.
   */
  saveUsage(save: UsageSave): Promise<ReadonlyMap<string, Usage>>;
}

/** A step in the progress of a webhook, and the attempt that has led to it. */
export interface ProgressStep {
  readonly from: WebhookProgress;
  readonly to: WebhookProgress;
  readonly attempt?: DeliveryAttempt | undefined;
}

/** Keeps the webhooks, and how far the deliveries to each have come. */
export interface WebhookStore {
  createWebhook(webhook: Webhook): Promise<void>;
  /** All webhooks, in the order of their creation. */
  listWebhooks(): Promise<Webhook[]>;
  /** How long a claim lasts, in milliseconds; infinity for a store that only one server can have. */
  readonly webhookClaimMs: number;
  /**
   * Claims the webhooks that no other server has claimed, and renews the claims that this one has. A server delivers
   * only to webhooks that it has claimed. Returns them in the order of their creation. Those whose rows are damaged are
   * reported, and left out.
   */
  claimWebhooks(report: (reason: unknown) => void): Promise<Webhook[]>;
  /** Gives up all claims of this server. */
  releaseWebhooks(): Promise<void>;
  /** Undefined when no webhook has this id. */
  getWebhook(id: string): Promise<Webhook | undefined>;
  /** Deletes a webhook and its attempts. Returns whether there was one. */
  deleteWebhook(id: string): Promise<boolean>;
  /**
   * Pauses a webhook that is not paused. With `judged`, it does so only where the stored progress is still that one, and
   * no other server has claimed the webhook. Returns the webhook as it is then; undefined when there is none.
   */
  pauseWebhook(id: string, reason: PauseReason, atMs: number, judged?: WebhookProgress): Promise<Webhook | undefined>;
  /**
   * Resumes a webhook, and forgets its failures. Deliveries go on after `position`; undefined for the present position.
   * Returns the resumed webhook; undefined when there is none.
   */
  resumeWebhook(id: string, position: bigint | undefined): Promise<Webhook | undefined>;
  /** Gives a webhook a new secret; the present one becomes the former. Undefined when there is no such webhook. */
  rotateWebhookSecret(id: string, secret: string, formerEndsAtMs: number): Promise<Webhook | undefined>;
  /**
   * Stores the new progress of a webhook, and the attempt that has led to it, if there was one. Keeps the last
   * `keptAttempts` of each webhook. Returns false, and stores nothing, in three cases: the stored progress is not
   * `step.from`, such as after a resumption; the webhook is gone; or another server has claimed it. A step to no
   * failures counts although a resumption has meanwhile forgotten those of `step.from`: the delivery has succeeded.
   */
  saveProgress(id: string, step: ProgressStep): Promise<boolean>;
  /** The last attempts of a webhook, the newest first. */
  listAttempts(id: string, limit: number): Promise<DeliveryAttempt[]>;
}

/** Looks after a store that is kept in files. Errors of the file system are thrown as they are. */
export interface StoreMaintenance {
  /**
   * Writes a consistent copy of the store to a new file, while others read and write. Throws when the file exists, or
   * cannot be written.
   */
  backup(file: string, report?: ReportProgress): Promise<void>;
  /** Records a backup that was taken, in place of an older one. */
  recordBackup(backup: BackupRecord): Promise<void>;
  /** Undefined when no backup was recorded. */
  lastBackup(): Promise<BackupRecord | undefined>;
  /** Measures the store, and the space that is left for it. */
  space(): Promise<StoreSpace>;
  /** Looks for faults, a line for each, and changes nothing. Others may read and write meanwhile. */
  check(depth: CheckDepth, report?: ReportProgress): Promise<string[]>;
  /**
   * Copies a backup, checks the copy, and replaces the store with it. Throws while anybody uses the store. Returns the
   * name under which the former store is kept; undefined when there was none.
   */
  restore(backup: string, report?: ReportProgress): Promise<string | undefined>;
}

/** A quick check leaves out what takes longest: whether the indexes agree with their tables. */
export type CheckDepth = "quick" | "full";

/** A backup of a store. */
export interface BackupRecord {
  /** The moment as of which the backup has the data, in milliseconds since the Unix epoch. */
  readonly takenAtMs: number;
  readonly bytes: number;
}

/** The space that a store takes and has, in bytes. */
export interface StoreSpace {
  readonly dataBytes: number;
  /** The size of the log that is not merged into the data yet. */
  readonly logBytes: number;
  /** The space that is left for the store. */
  readonly freeBytes: number;
  /** The size of the file system that the store is on. */
  readonly capacityBytes: number;
}

/** Called with the progress of long work. Each kind of work has a unit of its own, such as rows. */
export type ReportProgress = (done: number, total: number) => void;

/** A number that a backend tells about itself, as a metric for Prometheus. */
export interface StoreGauge {
  /** The metric's full name, with its unit. */
  readonly name: string;
  readonly help: string;
  /** Rejects with `UNAVAILABLE`. */
  readonly read: () => Promise<number>;
}

/** A group of writes that a backend has committed together. */
export interface CommittedGroup {
  readonly size: number;
  /** How long the commit took, in milliseconds. */
  readonly syncMs: number;
}
