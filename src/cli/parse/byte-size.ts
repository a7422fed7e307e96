import { parseWholeNumber } from "./whole-number.ts";

const factors = { "": 1, KiB: 1_024, MiB: 1_024 ** 2, GiB: 1_024 ** 3 };

/** Reads a number of bytes, from 1 on, such as `1048576`, `512KiB` or `1MiB`. Undefined for anything else. */
export function parseByteSize(text: string): number | undefined {
  const [, amount = "", unit = ""] = /^(\d+)(KiB|MiB|GiB|)$/.exec(text) ?? [];
  const size = (parseWholeNumber(amount) ?? 0) * factors[unit as keyof typeof factors];
  return size >= 1 && Number.isSafeInteger(size) ? size : undefined;
}

/** Writes a number of bytes as `parseByteSize` reads it, in the largest unit that is exact. */
export function writeByteSize(size: number): string {
  const [unit, factor] = Object.entries(factors).findLast(([, each]) => size % each === 0) ?? ["", 1];
  return `${size / factor}${unit}`;
}

/** Writes a number of bytes for people, such as `12.3 MiB`. */
export function formatByteSize(size: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(size, 1)) / 10), units.length - 1);
  return power === 0 ? `${size} bytes` : `${(size / 1_024 ** power).toFixed(1)} ${units[power]}`;
}
