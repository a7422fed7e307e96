import type { KeyFinder } from "../domain/key-store.ts";
import type { Store } from "../domain/store.ts";
import type { ReportProgress } from "../domain/store-maintenance.ts";
import type { DeprecatedCallNote } from "../interceptors/deprecation.ts";
import type { RateLimiter } from "../interceptors/limits.ts";
import { createAnonymousRateLimiter } from "../rate-limit/anonymous-rate-limiter.ts";
import { createKeyRateLimiter } from "../rate-limit/key-rate-limiter.ts";
import { throttle } from "../scheduling/throttle.ts";
import { type ExternalChangeWatcher, watchExternalChanges } from "../storage/external-changes.ts";
import { startHousekeeping } from "../storage/housekeeping.ts";
import { createKeyCache } from "../storage/key-cache.ts";
import { acquireServerLock } from "../storage/sqlite/files/server-lock.ts";
import { openSqliteStore } from "../storage/sqlite/store.ts";
import type { ServerConfig } from "./config.ts";
import type { ServerLife } from "./server-life.ts";
import { failureReportMs, type Telemetry } from "./telemetry.ts";

/** The store of a server, and what is kept of it in memory. */
export interface Backend {
  readonly store: Store;
  readonly keys: KeyFinder;
  readonly limiter: RateLimiter;
  readonly externalChanges: ExternalChangeWatcher;
  readonly noteDeprecatedCall: DeprecatedCallNote;
}

/** Opens the store for this server alone. Throws `StoreHeldError`, `StoreFileError`, and the system's errors. */
export function openBackend(
  config: ServerConfig,
  life: ServerLife,
  { observability, logger }: Telemetry,
  migrating?: ReportProgress,
): Backend {
  const { held, clock } = life;
  const lock = acquireServerLock(config.db);
  held.defer(() => lock.release());
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
  held.defer(() => store.close());
  observability.watchStore(store);

  const reportUnsaved = throttle(failureReportMs, (reason) =>
    logger.error({ err: reason }, "the rate-limit counters could not be saved; the server tries again"),
  );
  const { decided } = observability.limits;
  const keyLimiter = createKeyRateLimiter({ store, clock, decided, report: reportUnsaved });
  held.defer(() => keyLimiter.close());
  const limiter = { keys: keyLimiter, anonymous: createAnonymousRateLimiter(clock, decided) };

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
    keys: createKeyCache(store, externalChanges),
    limiter,
    externalChanges,
    noteDeprecatedCall: (key, method) => keyLimiter.noteDeprecatedCall(key, method),
  };
}
