import type { ImportResult, Imports } from "../import.ts";
import type { KeyStore, UsageStore } from "./key-store.ts";
import type { OrderStore, PetStore } from "./pet-store.ts";
import type { StockStore } from "./stock-store.ts";
import type { StoreGauge, StoreMaintenance } from "./store-maintenance.ts";
import type { WebhookStore } from "./webhook-store.ts";

/**
 * Keeps all data of the service. A backend passes all of `test/storage/suite.ts`.
 *
 * Every method may reject with `UNAVAILABLE`: the medium is busy, full or failing, or cannot be reached. Nobody knows
 * then whether a write takes effect. Other errors are named where they can occur. A write that has resolved is durable,
 * and every later read sees it, on every server; of another store of this process, from the next turn of the event loop.
 */
export interface Store extends PetStore, StockStore, OrderStore, KeyStore, UsageStore, WebhookStore {
  /**
   * Imports all of the pets and orders, or none of them. An error that an iterable throws is thrown on.
   *
   * A whole record replaces the one with its id, a pet's stock included. A record with some of its fields changes these
   * alone; it throws `UnknownRecordError` where no record has its id. Of several records with one id the later wins. An
   * order may name a pet that is not in the store. Slow input keeps nobody else from writing. Each pet whose quantity or
   * status is written is one change of the history, whose quantity may be the same.
   */
  importAll(imports: Imports, nowMs: number): Promise<ImportResult>;
  /** Resolves when the store answers reads and takes writes. */
  ready(options?: WaitOptions): Promise<void>;
  /** Tells which data others have changed, so that a cache of it is out of date. */
  changeTokens(options?: WaitOptions): Promise<ChangeTokens>;
  /** Calls back soon after others have changed data, where the backend hears of that: then the tokens tell of what. */
  readonly onOthersChange?: (listener: () => void) => void;
  /** Tells the servers that use the store. Undefined for a backend that one server uses, as is `registerServer`. */
  readonly listServers?: () => Promise<RegisteredServer[]>;
  /** Registers a server. Rejects, with a line for the operator, while another one keeps it from serving. */
  readonly registerServer?: (options: RegistrationOptions) => Promise<ServerRegistration>;
  /** Undefined for a backend that is maintained by its own tools. */
  readonly maintenance: StoreMaintenance | undefined;
  /** What the backend tells about itself. */
  readonly gauges: readonly StoreGauge[];
  /** Waits for writes under way, and releases all resources. The store must not be used afterwards. */
  close(): Promise<void>;
}

/** How a caller waits for a store. */
export interface WaitOptions {
  /**
   * Ends the wait: the call rejects with the signal's reason. A read that has begun may go on. A write may still take
   * effect.
   */
  readonly signal?: AbortSignal | undefined;
}

/** The data that servers keep in memory: API keys, pets and orders, the usage of keys, webhooks. */
export type ChangeTopic = "keys" | "stock" | "usage" | "webhooks";

/**
 * A token for each topic. It differs from the last one when others have changed data of the topic: another server, a
 * command, or an import of this process. What this store object itself writes, imports apart, leaves its tokens alone.
 */
export type ChangeTokens = Readonly<Record<ChangeTopic, number>>;

/** A server that uses a store which several servers may share. */
export interface RegisteredServer {
  readonly id: string;
  /** That of the program. */
  readonly version: string;
  /** Milliseconds since the Unix epoch, by the store's clock, as is `lastSeenAtMs`. */
  readonly startedAtMs: number;
  /** When the server last told the store that it lives. */
  readonly lastSeenAtMs: number;
}

/** The place of a server among those that use a store. */
export interface ServerRegistration {
  readonly id: string;
  /** The store's clock, by which all of its servers go, in milliseconds since the Unix epoch. */
  readonly clock: () => number;
  /** Leaves the place to others. */
  release(): Promise<void>;
}

/** How a server registers. */
export interface RegistrationOptions {
  readonly version: string;
  /** Whether the server counts limits in its own memory: then it must be the only one. */
  readonly countsAlone: boolean;
  /** Hears that another server has taken the place of this one, which must not go on. */
  readonly replaced: () => void;
}

/** Whether a location is the URL of a PostgreSQL database. Any other location is a file. */
export function isPostgresUrl(location: string): boolean {
  return /^postgres(ql)?:/i.test(location);
}
