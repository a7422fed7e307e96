const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

// A century: whoever means longer means no end at all, and all dates stay within four digits of years.
const maxMs = 36_525 * unitMs.d;

/** How a duration is written, for messages. */
export const durationForm = "a duration such as 30s, 15m, 24h or 30d, of a century at most";

/** Reads a duration such as `30s`, `15m`, `24h` or `30d`, in milliseconds. Undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const durationMs = Number(amount) * unitMs[unit as keyof typeof unitMs];
  return durationMs <= maxMs ? durationMs : undefined;
}

/** Writes whole seconds as `parseDuration` reads them, in the largest unit that is exact. */
export function writeDuration(durationMs: number): string {
  const units = Object.entries(unitMs);
  const [unit, lengthMs] = units.findLast(([, each]) => durationMs > 0 && durationMs % each === 0) ?? ["s", unitMs.s];
  return `${durationMs / lengthMs}${unit}`;
}

/** Writes a duration for people, in its two largest units, such as `3h 12m`, `41s` or `2d`; rounded up to seconds. */
export function formatDuration(durationMs: number): string {
  const seconds = Math.ceil(durationMs / unitMs.s);
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
