import type { Logger } from "pino";
import type { CallMetrics } from "./call-metrics.ts";
import type { CallRate } from "./call-rate.ts";
import type { LimitMetrics } from "./limit-metrics.ts";
import type { WatchedStore } from "./store-metrics.ts";

/** What the status is made of. */
export interface StatusOptions {
  readonly version: string;
  readonly startedAtMs: number;
  readonly addresses: { readonly url: string; readonly opsUrl: string };
  readonly isReady: () => boolean;
  /** The store's file. */
  readonly db: string;
  readonly calls: CallMetrics;
  readonly rate: CallRate;
  readonly limits: LimitMetrics;
  readonly store: WatchedStore;
  readonly nowMs: number;
  readonly logger: Logger;
}

/** The running server at a glance, as JSON is made of it. Rejects when the store does not answer. */
export async function readStatus(options: StatusOptions) {
  const { version, startedAtMs, addresses, isReady, db, calls, rate, limits, store, nowMs, logger } = options;
  const { dataBytes: fileBytes, logBytes: walBytes, freeBytes } = await store.space();
  const backup = await store.lastBackup();
  const lastBackupAt = backup === undefined ? null : new Date(backup.takenAtMs).toISOString();
  return {
    version,
    startedAt: new Date(startedAtMs).toISOString(),
    ...addresses,
    ready: isReady(),
    db: { path: db, fileBytes, walBytes, freeBytes, lastBackupAt },
    calls: { total: calls.total, perSecond1m: round(rate.perSecond), failed: calls.failed },
    limits: limits.totals,
    keys: { byPlan: await store.countKeys(nowMs) },
    logLevel: logger.level,
  };
}

/** To a thousandth. */
function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
