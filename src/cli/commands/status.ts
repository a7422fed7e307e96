import type { Command } from "commander";
import { fetchStatus, type ServerStatus, type StoreStatus } from "../ops-client.ts";
import { formatByteSize, formatCount } from "../print/number.ts";
import { printableJson } from "../print/printable.ts";
import { formatLabelledLines } from "../print/table.ts";
import { formatAgo, formatElapsed, formatMinute } from "../print/time.ts";
import { addSettings, settingValue } from "../settings/resolve.ts";

/** `petstore status`: the running server at a glance. */
export function addStatus(program: Command): void {
  const status = program
    .command("status")
    .summary("show the running server at a glance")
    .description("Reads the status of a running server from its operator port.")
    .option("--ops-url <url>", "the operator port (default: that of --ops-host and --ops-port)")
    .option("--json", "print the answer of the server as it is")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => {
      const { opsUrl = localOpsUrl(command), json } = command.opts<{ opsUrl?: string; json?: true }>();
      const answer = await fetchStatus(opsUrl);
      process.stdout.write(json ? `${printableJson(answer)}\n` : formatStatus(answer, Date.now()));
    });
  addSettings(status, ["opsHost", "opsPort"]);
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
  const { version, startedAt, url, opsUrl, ready, db, calls, limits, keys, logLevel } = status;
  const plans = Object.entries(keys.byPlan).map(([plan, count]) => `${plan} ${formatCount(count)}`);
  const perSecond = calls.perSecond1m.toFixed(1);
  return formatLabelledLines([
    ["petstore", `${version}, up ${formatElapsed(nowMs - Date.parse(startedAt))}, ${ready ? "ready" : "not ready"}`],
    ["api", url],
    ["operator", opsUrl],
    ["store", describeStore(db)],
    ["backup", describeBackup(db, nowMs)],
    ["calls", `${formatCount(calls.total)}, ${perSecond}/s in the last minute, ${formatCount(calls.failed)} failed`],
    [
      "limits",
      `${formatCount(limits.admitted)} admitted, ${formatCount(limits.refused)} refused, ${formatCount(limits.banned)} banned`,
    ],
    ["keys", plans.join(", ") || "none"],
    ["log level", logLevel],
  ]);
}

function describeStore({ path, fileBytes, walBytes, error }: StoreStatus): string {
  const size = fileBytes === undefined ? [] : [formatByteSize(fileBytes)];
  const log = walBytes === undefined ? [] : [`log ${formatByteSize(walBytes)}`];
  return [path, ...size, ...log, ...(error === undefined ? [] : [error])].join(", ");
}

function describeBackup({ lastBackupAt }: StoreStatus, nowMs: number): string {
  if (lastBackupAt === undefined || lastBackupAt === null) {
    return lastBackupAt === null ? "none yet" : "unknown";
  }
  const takenAtMs = Date.parse(lastBackupAt);
  return Number.isNaN(takenAtMs) ? "unknown" : `${formatMinute(takenAtMs)}, ${formatAgo(takenAtMs, nowMs)}`;
}

const help = `
Exits with 1 when no server answers. A server that is stopping still answers,
but is not ready.

Examples:
  $ petstore status
  $ petstore status --ops-url http://10.0.0.7:9090
  $ petstore status --json | jq .calls`;
