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
