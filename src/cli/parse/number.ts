/** Reads a whole number in plain decimal digits, up to 2^53 - 1. Undefined for anything else. */
export function parseWholeNumber(text: string): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : undefined;
  return Number.isSafeInteger(value) ? value : undefined;
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
