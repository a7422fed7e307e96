import { isInt64 } from "../../domain/ranges.ts";
import { argument, listArgument } from "./argument.ts";

/** Reads a whole number in plain decimal digits, up to 2^53 - 1. Undefined for anything else. */
export function parseWholeNumber(text: string): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : undefined;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Reads ids of pets, from a flag that can be repeated. */
export const parsePetIds = listArgument(parseInt64, "the id of a pet, such as 7");

/** Reads a stock count. */
export const parseQuantity = argument(parseInt64, "a 64-bit integer, such as 5");

/** Reads an int64 in plain decimal digits. Undefined for anything else. */
function parseInt64(text: string): bigint | undefined {
  const value = /^(?:0|-?[1-9][0-9]*)$/.test(text) ? BigInt(text) : undefined;
  return value !== undefined && isInt64(value) ? value : undefined;
}

const byteUnits = { "": 1, KiB: 1_024, MiB: 1_024 ** 2, GiB: 1_024 ** 3 };

/** Reads a number of bytes, at least 1, such as `1048576`, `512KiB` or `1MiB`. Undefined for anything else. */
export function parseByteSize(text: string): number | undefined {
  const [, amount = "", unit = ""] = /^(\d+)(KiB|MiB|GiB|)$/.exec(text) ?? [];
  const bytes = (parseWholeNumber(amount) ?? 0) * byteUnits[unit as keyof typeof byteUnits];
  return bytes >= 1 && Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Writes a number of bytes as `parseByteSize` reads it, in the largest unit that is exact. */
export function writeByteSize(bytes: number): string {
  const [unit, factor] = Object.entries(byteUnits).findLast(([, each]) => bytes % each === 0) ?? ["", 1];
  return `${bytes / factor}${unit}`;
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

// A century. Someone who means longer means no end at all, and every date keeps a year of four digits.
const maxDurationMs = 36_525 * unitMs.d;

/** The form of a duration. Completes the sentence `It must be …`. */
export const durationForm = "a duration such as 30s, 15m, 24h or 30d, of a century at most";

/** Reads a duration such as `30s`, `15m`, `24h` or `30d`, in milliseconds. Undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const durationMs = Number(amount) * unitMs[unit as keyof typeof unitMs];
  return durationMs <= maxDurationMs ? durationMs : undefined;
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
