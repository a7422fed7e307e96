import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { Command } from "commander";
import {
  entryOfServer,
  type ServerEntry,
  type ServerStatus,
  type SharedLimitsStatus,
  type StoreStatus,
  type StreamsStatus,
  type WebhooksStatus,
} from "../../domain/server-status.ts";
import { isPostgresUrl } from "../../domain/store.ts";
import { Failure } from "../failure.ts";
import { fetchStatus } from "../ops-client.ts";
import { formatAgo, formatByteSize, formatCount, formatElapsed, formatTime } from "../print/format.ts";
import { formatLabelledLines, formatTable, printableJson } from "../print/terminal.ts";
import { addSettings, settingValue, sourceOf, strengthOf } from "../settings/resolve.ts";

interface StatusOptions {
  readonly opsUrl?: string;
  readonly json?: true;
}

/** `petstore status`: the running server at a glance, or all servers that share a database. */
export function addStatus(program: Command): void {
  const status = program
    .command("status")
    .summary("show the running server at a glance, or all that share a database")
    .description(
      "Reads the status of a running server from its operator port. With --database postgres://…, lists the servers that share the database.",
    )
    .option("--ops-url <url>", "the operator port (default: that of --ops-host and --ops-port)")
    .option("--json", "print the answer of the server as it is, or the list as JSON")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => {
      const options = command.opts<StatusOptions>();
      const isAbout = isAboutStore(command, options);
      if (isAbout && isPostgresUrl(settingValue(command, "db"))) {
        await printServers(command, options);
      } else {
        await printServer(command, options, isAbout ? namedFile(command) : undefined);
      }
    });
  addSettings(status, ["opsHost", "opsPort"]);
}

/** Throws a `Failure` if `file` is given and the server serves another store. */
async function printServer(
  command: Command,
  { opsUrl = localOpsUrl(command), json }: StatusOptions,
  file: string | undefined,
): Promise<void> {
  const answer = await fetchStatus(opsUrl);
  if (file !== undefined && isOtherStore(answer.db.path, file)) {
    throw new Failure(`the server at ${opsUrl} serves another store: ${answer.db.path}`);
  }
  process.stdout.write(json ? `${printableJson(answer)}\n` : formatStatus(answer, Date.now()));
}

/** Loads the code that reads stores only here, because health checks run this command often. */
async function printServers(command: Command, { json }: StatusOptions): Promise<void> {
  const { listServersOf } = await import("../store.ts");
  const servers = (await listServersOf(settingValue(command, "db"))).map(entryOfServer);
  process.stdout.write(json ? `${printableJson({ servers })}\n` : formatServers(servers, Date.now()));
}

/**
 * Whether the settings name a store, and no equally strong source names an operator port. So a health check within a
 * server's own environment asks that server.
 */
function isAboutStore(command: Command, { opsUrl }: StatusOptions): boolean {
  const strengthOfPort = Math.max(strengthOf(command, "opsHost"), strengthOf(command, "opsPort"));
  return opsUrl === undefined && strengthOf(command, "db") > strengthOfPort;
}

/**
 * The file of the store that a flag names. Variables and the file of settings are those of the server: it may run in
 * another folder, or as another user. Throws a `Failure` if the file is not there, as what answers would be the server
 * of another store.
 */
function namedFile(command: Command): string | undefined {
  if (sourceOf(command, "db").kind !== "flag") {
    return undefined;
  }
  const file = settingValue(command, "db");
  if (isMissing(file)) {
    throw new Failure(`${file}: there is no such store`);
  }
  return file;
}

/** A file in a folder that cannot be read is not known to be missing. */
function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/**
 * Whether what a server serves is certainly not this file. An older server may tell a path that is relative to its own
 * folder, and a server in a container one that this machine does not have.
 */
function isOtherStore(served: string, file: string): boolean {
  if (!isAbsolute(served)) {
    return isPostgresUrl(served);
  }
  try {
    const [theirs, ours] = [statSync(served, { bigint: true }), statSync(file, { bigint: true })];
    return theirs.dev !== ours.dev || theirs.ino !== ours.ino;
  } catch {
    return false;
  }
}

/** A server that listens on all addresses is reached by the loopback address. */
const loopbacks: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

/** The operator port of a server with the same settings. */
function localOpsUrl(command: Command): string {
  const host = settingValue(command, "opsHost");
  const reached = loopbacks.get(host) ?? host;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${settingValue(command, "opsPort")}`;
}

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

const help = `
Exits with 1 when no server answers. A server that is stopping still answers,
but is not ready.

The list of --database has the servers that live, and for an hour those that
were killed. With --ops-url, the operator port is asked instead. With --ops-host
or --ops-port, it is asked unless --database comes from a stronger source. A
flag is the strongest source, then a variable, then the file of settings.

With --db FILE the operator port is asked, too. A file that does not exist is an
error, and so is a server that serves another store.

Examples:
  $ petstore status
  $ petstore status --database postgres://petstore@db.example/petstore
  $ petstore status --ops-url http://10.0.0.7:9090
  $ petstore status --json | jq .calls`;
