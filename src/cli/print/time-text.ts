import { formatDuration } from "../parse/duration.ts";

/** A moment to the minute, in UTC, such as `2026-06-01 12:00Z`. */
export function formatMinute(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 16).replace("T", " ")}Z`;
}

/** A duration in its largest unit alone, such as `3h`. */
export function formatRoughly(durationMs: number): string {
  return formatDuration(Math.max(0, durationMs)).split(" ", 1).join("");
}

/** How long ago a moment was, such as `3h ago`. */
export function formatAgo(timeMs: number, nowMs: number): string {
  return `${formatRoughly(nowMs - timeMs)} ago`;
}
