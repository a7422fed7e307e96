import type { Logger } from "pino";
import type { StoreMaintenance } from "../domain/store-maintenance.ts";
import type { CallMetrics, CallRate } from "./call-metrics.ts";
import type { LimitMetrics } from "./limit-metrics.ts";
import { type WatchedStore, whileReachable } from "./store-metrics.ts";

/** Whether the server takes requests, and why it does not. */
export type Readiness = "ready" | "stopping" | typeof storeSilence;

/** What is told of a store that does not answer. */
export const storeSilence = "the store does not answer";

/** The parts of a status. */
export interface StatusOptions {
  readonly version: string;
  readonly startedAtMs: number;
  readonly addresses: { readonly url: string; readonly opsUrl: string };
  readonly readiness: Readiness;
  /** Where the store is. */
  readonly db: string;
  readonly calls: CallMetrics;
  readonly rate: CallRate;
  readonly limits: LimitMetrics;
  readonly store: WatchedStore;
  readonly nowMs: number;
  readonly logger: Logger;
}

/** The running server at a glance, to be written as JSON. What the store does not answer is left out. */
export async function readStatus(options: StatusOptions) {
  const { version, startedAtMs, addresses, readiness, db, calls, rate, limits, store, nowMs, logger } = options;
  const byPlan = await whileReachable(() => store.countKeys(nowMs));
  const files = await whileReachable(() => readFiles(store.maintenance));
  const doesAnswer = readiness !== storeSilence && byPlan !== undefined && files !== undefined;
  return {
    version,
    startedAt: new Date(startedAtMs).toISOString(),
    ...addresses,
    ready: readiness === "ready",
    db: { path: db, ...files, ...(doesAnswer ? {} : { error: storeSilence }) },
    calls: { total: calls.total, perSecond1m: round(rate.perSecond), failed: calls.failed },
    limits: limits.totals,
    keys: { byPlan: byPlan ?? {} },
    logLevel: logger.level,
  };
}

async function readFiles(maintenance: StoreMaintenance | undefined) {
  if (maintenance === undefined) {
    return {};
  }
  const { dataBytes: fileBytes, logBytes: walBytes, freeBytes } = await maintenance.space();
  const backup = await maintenance.lastBackup();
  const lastBackupAt = backup === undefined ? null : new Date(backup.takenAtMs).toISOString();
  return { fileBytes, walBytes, freeBytes, lastBackupAt };
}

/** Rounds to a thousandth. */
function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
