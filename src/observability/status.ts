import type { Logger } from "pino";
import { entryOfServer, type ServerStatus, type StoreStatus, type StreamsStatus } from "../domain/server-status.ts";
import type { StoreMaintenance } from "../domain/store.ts";
import type { CallMetrics, CallRate } from "./call-metrics.ts";
import type { StreamCounts, WebhookGauges } from "./delivery-metrics.ts";
import type { LimitMetrics, SharedLimitMetrics } from "./limit-metrics.ts";
import { type WatchedStore, whileReachable } from "./store-metrics.ts";

/** Whether the server takes requests, and why it does not. */
export type Readiness = "ready" | "stopping" | typeof storeAwayText | typeof limitsAwayText;

/** The text for a store that does not answer, in the status and at `/readyz`. */
export const storeAwayText = "the store does not answer";

/** The text at `/readyz` while requests are refused because nobody can count them. */
export const limitsAwayText = "limits cannot be counted";

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
  readonly sharedLimits: SharedLimitMetrics;
  /** Undefined until the server serves, as are the webhooks. */
  readonly streams: StreamCounts | undefined;
  readonly webhooks: WebhookGauges["summary"] | undefined;
  readonly store: WatchedStore;
  readonly nowMs: number;
  readonly logger: Logger;
}

/** The running server at a glance, to be written as JSON. What the store does not answer is left out. */
export async function readStatus(options: StatusOptions): Promise<ServerStatus> {
  const { version, startedAtMs, addresses, readiness, db, calls, rate, store, nowMs, logger } = options;
  const { streams, webhooks } = options;
  const shared = options.sharedLimits.status;
  const [byPlan, files, servers] = await Promise.all([
    whileReachable(() => store.countKeys(nowMs)),
    whileReachable(() => readFiles(store.maintenance)),
    whileReachable(async () => store.listServers?.()),
  ]);
  const doesAnswer = readiness !== storeAwayText && byPlan !== undefined && files !== undefined;
  return {
    version,
    startedAt: new Date(startedAtMs).toISOString(),
    ...addresses,
    ready: readiness === "ready",
    db: { path: db, ...files, ...(doesAnswer ? {} : { error: storeAwayText }) },
    calls: { total: calls.total, perSecond1m: round(rate.perSecond), failed: calls.failed },
    limits: { ...options.limits.totals, ...(shared && { shared }) },
    ...(streams && { streams: statusOfStreams(streams) }),
    ...(webhooks && { webhooks: { ...webhooks, lagSeconds: round(webhooks.lagSeconds) } }),
    ...(servers !== undefined && { servers: servers.map(entryOfServer) }),
    keys: { byPlan: byPlan ?? {} },
    logLevel: logger.level,
  };
}

function statusOfStreams({ open, most, keysAtMost, refused }: StreamCounts): StreamsStatus {
  return { open, most, keysAtMost, refused };
}

async function readFiles(maintenance: StoreMaintenance | undefined): Promise<Omit<StoreStatus, "path" | "error">> {
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
