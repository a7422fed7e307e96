import { formatByteSize } from "../parse/byte-size.ts";
import { formatDuration } from "../parse/duration.ts";
import type { ServerStatus } from "../server-status.ts";
import { formatLabelledLines } from "./labelled-lines.ts";

/** A server's status for people, a line for each thing that they may want to know. */
export function formatStatus(status: ServerStatus, nowMs: number): string {
  const { version, startedAt, url, opsUrl, ready, db, calls, limits, keys, logLevel } = status;
  const upMs = Math.max(0, nowMs - Date.parse(startedAt));
  const plans = Object.entries(keys.byPlan).map(([plan, count]) => `${plan} ${write(count)}`);
  return formatLabelledLines([
    ["petstore", `${version}, up ${formatDuration(upMs)}, ${ready ? "ready" : "not ready"}`],
    ["api", url],
    ["operator", opsUrl],
    ["store", `${db.path}, ${formatByteSize(db.fileBytes)}, log ${formatByteSize(db.walBytes)}`],
    [
      "calls",
      `${write(calls.total)}, ${calls.perSecond1m.toFixed(1)}/s in the last minute, ${write(calls.failed)} failed`,
    ],
    ["limits", `${write(limits.admitted)} admitted, ${write(limits.refused)} refused, ${write(limits.banned)} banned`],
    ["keys", plans.join(", ") || "none"],
    ["log level", logLevel],
  ]);
}

function write(count: number): string {
  return count.toLocaleString("en");
}
