/** Writes a count for people, such as `1,000`. */
export function formatCount(count: number): string {
  return count.toLocaleString("en");
}

/** Writes a number of bytes for people, such as `12.3 MiB`. */
export function formatByteSize(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  return power === 0
    ? `${bytes} ${bytes === 1 ? "byte" : "bytes"}`
    : `${(bytes / 1_024 ** power).toFixed(1)} ${units[power]}`;
}

const unitSeconds = { d: 86_400, h: 3_600, m: 60, s: 1 };

/** A moment in UTC, to the second, such as `2026-06-01 12:00:00Z`. */
export function formatTime(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19).replace("T", " ")}Z`;
}

/** A moment for programs, in ISO 8601; null if there is none. */
export function timeToJson(timeMs: number | undefined): string | null {
  return timeMs === undefined ? null : new Date(timeMs).toISOString();
}

/** A time that has passed, in its two largest units, such as `3h 12m`, `41s` or `2d`. Rounded down. */
export function formatElapsed(durationMs: number): string {
  return inTwoUnits(Math.max(0, Math.floor(durationMs / 1_000)));
}

/** How long ago a moment was, in its largest unit, such as `3h ago`. Rounded down. */
export function formatAgo(timeMs: number, nowMs: number): string {
  return `${formatElapsed(nowMs - timeMs)
    .split(" ", 1)
    .join("")} ago`;
}

/** A time that is left, in its two largest units, such as `3h 12m`, `41s` or `2d`. Rounded up. */
export function formatRemaining(durationMs: number): string {
  const seconds = Math.ceil(durationMs / 1_000);
  const units = Object.values(unitSeconds);
  const smaller = units[units.findIndex((unit) => seconds >= unit) + 1] ?? 1;
  return inTwoUnits(Math.ceil(seconds / smaller) * smaller);
}

/** A time that is left, in the largest unit that fits into it at least twice, such as `25h` or `3d`. Rounded up. */
export function formatRoughRemaining(durationMs: number): string {
  const seconds = Math.max(0, Math.ceil(durationMs / 1_000));
  const [unit, length] = Object.entries(unitSeconds).find(([, each]) => seconds >= 2 * each) ?? ["s", 1];
  return `${Math.ceil(seconds / length)}${unit}`;
}

function inTwoUnits(seconds: number): string {
  const amounts = {
    d: Math.floor(seconds / 86_400),
    h: Math.floor(seconds / 3_600) % 24,
    m: Math.floor(seconds / 60) % 60,
    s: seconds % 60,
  };
  const parts = Object.entries(amounts);
  const first = parts.findIndex(([, amount]) => amount > 0);
  return parts
    .slice(first)
    .slice(0, 2)
    .filter(([, amount], index) => index === 0 || amount > 0)
    .map(([unit, amount]) => `${amount}${unit}`)
    .join(" ");
}
