import manifest from "../../package.json" with { type: "json" };
import type { RateLimiter } from "../domain/limits.ts";
import { maskCredentials } from "../domain/masking.ts";
import { isPostgresUrl, type KeyFinder, type ReportProgress, type Store } from "../domain/store.ts";
import type { StreamPlaces } from "../interceptors/streams.ts";
import { createAnonymousRateLimiter, createKeyRateLimiter } from "../rate-limit/rate-limiters.ts";
import type { ValkeyLink } from "../rate-limit/redis/link.ts";
import { throttle } from "../scheduling/timing.ts";
import { type ExternalChangeWatcher, TokenWatcher } from "../storage/external-changes.ts";
import { startHousekeeping } from "../storage/housekeeping.ts";
import { KeyCache } from "../storage/key-cache.ts";
import { acquireServerLock } from "../storage/sqlite/server-lock.ts";
import { openSqliteStore } from "../storage/sqlite/store.ts";
import { inMemory, type ServerConfig } from "./config.ts";
import type { ServerLife } from "./server-life.ts";
import type { Telemetry } from "./telemetry.ts";

/** The store of a server, and what the server keeps of it in memory. */
export interface Backend extends ServerLimits {
  readonly store: Store;
  /** Whether the store has been made by this start. */
  readonly isNewStore: boolean;
  readonly keys: KeyFinder;
  readonly externalChanges: ExternalChangeWatcher;
}

/** What is done with the store while the backend is opened. */
export interface BackendOptions {
  /** Is told the progress of the migration of an older store. */
  readonly migrating?: ReportProgress | undefined;
  /** Changes the store once this server has it, before anything else reads it. */
  readonly prepare?: ((store: Store) => Promise<void>) | undefined;
}

/** How long a shared store may be silent before no key counts as valid any more, in milliseconds. */
const maxSilenceMs = 5_000;

/**
 * Opens the store for this server alone, or a database that servers share. Rejects with `StoreHeldError`,
 * `StoreFileError` or `DatabaseError`, with `UnusableValkeyError` if `limits` names a server that cannot be used, and
 * with the system's errors.
 */
export async function openBackend(
  config: ServerConfig,
  life: ServerLife,
  telemetry: Telemetry,
  { migrating, prepare }: BackendOptions = {},
): Promise<Backend> {
  const { observability, logger } = telemetry;
  // A Valkey that cannot be used is told before the store is made or migrated.
  const link = config.limits === inMemory ? undefined : await openLink(config, life, telemetry);
  const opened = isPostgresUrl(config.db)
    ? await openSharedStore(config, life, telemetry)
    : openStoreFile(config, life, telemetry, migrating);
  const { store } = opened;
  const { resources, clock } = life;
  observability.watchStore(store);

  await prepare?.(store);

  const { close: closeLimits, ...limits } = await openLimits(config, { life, telemetry, store, link });
  const externalChanges = new TokenWatcher(store);
  // Both may wait for the store, and neither for the other.
  resources.defer(async () => void (await Promise.all([externalChanges.close(), closeLimits()])));

  const { historyRetentionMs } = config;
  const reportUndeleted = throttle((reason) =>
    logger.error({ err: reason }, "old changes of stock could not be deleted; the server tries again"),
  );
  const housekeeping = startHousekeeping({ store, historyRetentionMs, clock, report: reportUndeleted });
  life.endAtStop(() => housekeeping.close());
  return {
    ...opened,
    keys: new KeyCache(store, externalChanges, store.listServers === undefined ? Infinity : maxSilenceMs),
    externalChanges,
    ...limits,
  };
}

type OpenedStore = Pick<Backend, "store" | "isNewStore">;

function openStoreFile(
  config: ServerConfig,
  life: ServerLife,
  { observability, logger }: Telemetry,
  migrating?: ReportProgress,
): OpenedStore {
  const lock = acquireServerLock(config.db);
  life.resources.defer(() => lock.release());
  let isNewStore = false;
  const store = openSqliteStore(config.db, {
    lock,
    created() {
      isNewStore = true;
    },
    datesWrites: true,
    migrating(done, total) {
      migrating?.(done, total);
      if (done === total) {
        logger.info({ pets: total }, "the store has been migrated to this version of petstore");
      }
    },
    committed: observability.commits.committed,
    ended(error) {
      logger.fatal({ err: error }, "the server stops: the store's writer thread has failed");
      life.break();
    },
  });
  life.resources.defer(() => store.close());
  return { store, isNewStore };
}

/** Opens a store that other servers may use, too, and registers this server in it. */
async function openSharedStore(
  config: ServerConfig,
  life: ServerLife,
  { observability, logger }: Telemetry,
): Promise<OpenedStore> {
  const { openPostgresStore } = await import("../storage/postgres/store.ts");
  let isNewStore = false;
  const store = await openPostgresStore(config.db, {
    created() {
      isNewStore = true;
    },
    committed: observability.commits.committed,
  });
  life.resources.defer(() => store.close());
  const registration = await store.registerServer({
    version: manifest.version,
    countsAlone: config.limits === inMemory,
    replaced() {
      logger.fatal("the server stops: it was silent for so long that another one has taken its place");
      life.break();
    },
  });
  life.resources.defer(() => registration.release());
  life.useClock(registration.clock);
  return { store, isNewStore };
}

/** How a server counts. */
interface ServerLimits {
  readonly limiter: RateLimiter;
  /** The places for streams that servers share; undefined where each counts its own. */
  readonly streamPlaces: StreamPlaces | undefined;
  /** Whether requests can be counted, by Valkey or by this server alone. */
  canCountLimits(): boolean;
}

interface OpenedLimits extends ServerLimits {
  /** Counts no more, and resolves when the store has all counts. */
  readonly close: () => Promise<void>;
}

/** What the limits are made of. */
interface LimitsParts {
  readonly life: ServerLife;
  readonly telemetry: Telemetry;
  readonly store: Store;
  /** The link to Valkey; undefined if this server counts in memory. */
  readonly link: ValkeyLink | undefined;
}

/** Opens the limits, which are counted in memory or by Valkey. */
async function openLimits(config: ServerConfig, { life, telemetry, store, link }: LimitsParts): Promise<OpenedLimits> {
  const { clock } = life;
  const { logger, observability } = telemetry;
  const report = throttle((reason) =>
    logger.error({ err: reason }, "the rate-limit counters could not be saved; the server tries again"),
  );
  const { decided } = observability.limits;
  const options = { store, clock, decided, report };
  if (link === undefined) {
    const keys = createKeyRateLimiter(options);
    return {
      limiter: { keys, anonymous: createAnonymousRateLimiter(clock, decided) },
      streamPlaces: undefined,
      canCountLimits: () => true,
      close: () => keys.close(),
    };
  }
  const isFallbackLocal = config.limitsFallback === "local";
  const { createSharedLimits } = await loadSharedLimits();
  const shared = createSharedLimits({ ...options, link, isFallbackLocal });
  observability.sharedLimits.attach({
    url: maskCredentials(config.limits),
    fallback: config.limitsFallback,
    localDecisions: () => shared.localDecisions,
  });
  return {
    limiter: shared,
    streamPlaces: shared.places,
    canCountLimits: () => isFallbackLocal || shared.isConnected,
    close: () => shared.close(),
  };
}

/** The client of Valkey is loaded only if Valkey counts: it takes as much memory as a fifth of the server. */
function loadSharedLimits() {
  return import("../rate-limit/redis/shared-limits.ts");
}

/** Connects to Valkey, and logs when it is away. Rejects with `UnusableValkeyError` if it cannot be used. */
async function openLink(
  { limits: url, limitsFallback }: ServerConfig,
  { resources }: ServerLife,
  { observability, logger }: Telemetry,
): Promise<ValkeyLink> {
  const { sharedLimits } = observability;
  const limits = maskCredentials(url);
  const meanwhile = limitsFallback === "local" ? "this server counts by itself" : "requests are refused";
  let wasConnected: boolean | undefined;
  const { connectToValkey } = await loadSharedLimits();
  const link = await connectToValkey(url, {
    disconnected(reason) {
      if (wasConnected !== false) {
        logger.warn({ limits, err: reason }, `limits: Valkey does not answer; ${meanwhile} until it does`);
      }
      wasConnected = false;
      sharedLimits.disconnected(reason);
    },
    connected({ risks }) {
      if (wasConnected === undefined) {
        for (const risk of risks) {
          logger.warn({ limits }, `limits: ${risk}`);
        }
      } else {
        logger.info({ limits }, "limits: Valkey answers again; it counts for all servers");
      }
      wasConnected = true;
      sharedLimits.connected();
    },
    roundTrip: sharedLimits.roundTrip,
  });
  resources.defer(() => link.close());
  return link;
}
