import manifest from "../../package.json" with { type: "json" };
import type { KeyFinder } from "../domain/store/key-store.ts";
import { isPostgresUrl, type Store } from "../domain/store/store.ts";
import type { ReportProgress } from "../domain/store/store-maintenance.ts";
import { throttle } from "../scheduling/timing.ts";
import { type ExternalChangeWatcher, watchExternalChanges } from "../storage/external-changes.ts";
import { startHousekeeping } from "../storage/housekeeping.ts";
import { createKeyCache } from "../storage/key-cache.ts";
import { acquireServerLock } from "../storage/sqlite/server-lock.ts";
import { openSqliteStore } from "../storage/sqlite/store.ts";
import { inMemory, type ServerConfig } from "./config.ts";
import { type Limits, openLimits } from "./limits.ts";
import type { ServerLife } from "./server-life.ts";
import { failureReportMs, type Telemetry } from "./telemetry.ts";

/** The store of a server, and what is kept of it in memory. */
export interface Backend extends Limits {
  readonly store: Store;
  readonly keys: KeyFinder;
  readonly externalChanges: ExternalChangeWatcher;
}

/** How long a shared store may be silent, in milliseconds, until the server takes no key for valid any more. */
const maxSilenceMs = 5_000;

/**
 * Opens the store for this server alone, or a database that servers share. Rejects with `StoreHeldError`,
 * `StoreFileError`, `DatabaseError`, `UnusableValkeyError` for what is to count the limits, and the system's errors.
 */
export async function openBackend(
  config: ServerConfig,
  life: ServerLife,
  telemetry: Telemetry,
  migrating?: ReportProgress,
): Promise<Backend> {
  const { observability, logger } = telemetry;
  const { held, clock } = life;
  const store = isPostgresUrl(config.db)
    ? await openSharedStore(config, life, telemetry)
    : openStoreFile(config, life, telemetry, migrating);
  observability.watchStore(store);

  const limits = await openLimits(config, life, telemetry, store);

  const externalChanges = watchExternalChanges(store);
  held.defer(() => externalChanges.close());

  const { historyRetentionMs } = config;
  const reportUndeleted = throttle(failureReportMs, (reason) =>
    logger.error({ err: reason }, "old changes of stock could not be deleted; the server tries again"),
  );
  const housekeeping = startHousekeeping({ store, historyRetentionMs, clock, report: reportUndeleted });
  held.defer(() => housekeeping.close());
  return {
    store,
    keys: createKeyCache(store, externalChanges, store.listServers === undefined ? Infinity : maxSilenceMs),
    externalChanges,
    ...limits,
  };
}

function openStoreFile(
  config: ServerConfig,
  life: ServerLife,
  { observability, logger }: Telemetry,
  migrating?: ReportProgress,
): Store {
  const lock = acquireServerLock(config.db);
  life.held.defer(() => lock.release());
  const store = openSqliteStore(config.db, {
    lock,
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
  life.held.defer(() => store.close());
  return store;
}

/** Opens a store that other servers may use, too, and tells them of this one. */
async function openSharedStore(
  config: ServerConfig,
  life: ServerLife,
  { observability, logger }: Telemetry,
): Promise<Store> {
  const { openPostgresStore } = await import("../storage/postgres/store.ts");
  const store = await openPostgresStore(config.db, { committed: observability.commits.committed });
  life.held.defer(() => store.close());
  const registration = await store.registerServer({
    version: manifest.version,
    countsAlone: config.limits === inMemory,
    replaced() {
      logger.fatal("the server stops: it was silent for so long that another one has taken its place");
      life.break();
    },
  });
  life.held.defer(() => registration.release());
  life.goBy(registration.clock);
  return store;
}
