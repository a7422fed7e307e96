const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

// A century. Someone who means longer means no end at all, and every date keeps a year of four digits.
const maxMs = 36_525 * unitMs.d;

/** The form of a duration. Completes the sentence `It must be …`. */
export const durationForm = "a duration such as 30s, 15m, 24h or 30d, of a century at most";

/** Reads a duration such as `30s`, `15m`, `24h` or `30d`, in milliseconds. Undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const durationMs = Number(amount) * unitMs[unit as keyof typeof unitMs];
  return durationMs <= maxMs ? durationMs : undefined;
}

// Node's timers count up to 2^31 - 1 ms. A longer one fires at once.
const maxTimerMs = 2 ** 31 - 1;

/** Reads a duration for a timer, 24 days at most, in milliseconds. Undefined for anything else. */
export function parseTimerDuration(text: string): number | undefined {
  const durationMs = parseDuration(text);
  return durationMs !== undefined && durationMs <= maxTimerMs ? durationMs : undefined;
}

/** Writes whole seconds as `parseDuration` reads them, in the largest unit that is exact. */
export function writeDuration(durationMs: number): string {
  const units = Object.entries(unitMs);
  const [unit, lengthMs] = units.findLast(([, each]) => durationMs > 0 && durationMs % each === 0) ?? ["s", unitMs.s];
  return `${durationMs / lengthMs}${unit}`;
}
