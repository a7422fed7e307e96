import type {
  ServerEntry,
  ServerStatus,
  SharedLimitsStatus,
  StoreStatus,
  StreamsStatus,
  WebhooksStatus,
} from "../../domain/server-status.ts";
import { isPostgresUrl } from "../../domain/store.ts";
import { formatAgo, formatByteSize, formatCount, formatElapsed, formatTime } from "./format.ts";
import { formatLabelledLines, formatTable } from "./terminal.ts";

/** Writes a server's status for people, one fact per line. */
export function formatStatus(status: ServerStatus, nowMs: number): string {
  const { version, startedAt, url, opsUrl, ready, db, calls, limits, streams, webhooks, keys, servers, logLevel } =
    status;
  const plans = Object.entries(keys.byPlan).map(([plan, count]) => `${plan} ${formatCount(count)}`);
  const sizes = describeSizes(db);
  const perSecond = calls.perSecond1m.toFixed(1);
  return formatLabelledLines([
    ["petstore", `${version}, up ${formatElapsed(nowMs - Date.parse(startedAt))}, ${ready ? "ready" : "not ready"}`],
    ["api", url],
    ["operator", opsUrl],
    ["store", db.path],
    ...(sizes === "" ? [] : [["size", sizes] as const]),
    ...(db.error === undefined ? [] : [["error", db.error] as const]),
    ["backup", isPostgresUrl(db.path) ? "by pg_dump or point-in-time recovery" : describeBackup(db, nowMs)],
    ["calls", `${formatCount(calls.total)}, ${perSecond}/s in the last minute, ${formatCount(calls.failed)} failed`],
    [
      "limits",
      `${formatCount(limits.admitted)} admitted, ${formatCount(limits.refused)} refused, ${formatCount(limits.banned)} banned`,
    ],
    ...(limits.shared === undefined ? [] : [["counted by", describeShared(limits.shared, nowMs)] as const]),
    ...(streams === undefined ? [] : [["streams", describeStreams(streams)] as const]),
    ...(webhooks === undefined ? [] : [["webhooks", describeWebhooks(webhooks)] as const]),
    ["keys", plans.join(", ") || (db.error === undefined ? "none" : "not known")],
    ...(servers ?? []).map((server): [string, string] => ["server", describeServer(server, nowMs)]),
    ["log level", logLevel],
  ]);
}

/** Writes the servers that share a database for people, one on a line. */
export function formatServers(servers: readonly ServerEntry[], nowMs: number): string {
  if (servers.length === 0) {
    return "There are no servers.\n";
  }
  const rows = servers.map(({ id, version, startedAt, lastSeenAt }) => [
    id,
    version,
    formatTime(Date.parse(startedAt)),
    formatAgo(Date.parse(lastSeenAt), nowMs),
  ]);
  return formatTable([["ID", "VERSION", "STARTED", "LAST SEEN"], ...rows]);
}

function describeShared({ url, fallback, away }: SharedLimitsStatus, nowMs: number): string {
  if (away === null) {
    return `${url}, for all servers`;
  }
  const meanwhile = fallback === "local" ? "this server counts by itself" : "requests are refused";
  return `${url}, away for ${formatElapsed(nowMs - Date.parse(away.since))}: ${away.reason}; ${meanwhile}`;
}

function describeServer({ id, version, startedAt, lastSeenAt, self }: ServerEntry, nowMs: number): string {
  const up = formatElapsed(nowMs - Date.parse(startedAt));
  const seen = self ? "this one" : `seen ${formatAgo(Date.parse(lastSeenAt), nowMs)}`;
  return `${id}, ${version}, up ${up}, ${seen}`;
}

function describeSizes({ fileBytes, walBytes, freeBytes }: StoreStatus): string {
  const size = fileBytes === undefined ? [] : [formatByteSize(fileBytes)];
  const log = walBytes === undefined ? [] : [`log ${formatByteSize(walBytes)}`];
  const free = freeBytes === undefined ? [] : [`${formatByteSize(freeBytes)} free on its disk`];
  return [...size, ...log, ...free].join(", ");
}

function describeStreams({ open, most, keysAtMost, refused }: StreamsStatus): string {
  const full = keysAtMost === 0 ? "" : `, ${formatCount(keysAtMost)} keys have all they may`;
  return `${formatCount(open)} of ${formatCount(most)} open${full}, ${formatCount(refused)} refused`;
}

function describeWebhooks({ active, failing, paused, lagSeconds }: WebhooksStatus): string {
  const lag = lagSeconds < 1 ? "" : `, ${formatElapsed(lagSeconds * 1_000)} behind`;
  return `${formatCount(active)} active, ${formatCount(failing)} failing, ${formatCount(paused)} paused${lag}`;
}

function describeBackup({ lastBackupAt }: StoreStatus, nowMs: number): string {
  if (lastBackupAt === undefined || lastBackupAt === null) {
    return lastBackupAt === null ? "none yet" : "unknown";
  }
  const takenAtMs = Date.parse(lastBackupAt);
  return Number.isNaN(takenAtMs) ? "unknown" : `${formatTime(takenAtMs)}, ${formatAgo(takenAtMs, nowMs)}`;
}
