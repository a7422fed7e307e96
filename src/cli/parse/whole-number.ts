/** Reads a whole number in plain decimal digits. Undefined for anything else, and beyond 2^53. */
export function parseWholeNumber(text: string): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : undefined;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Reads a whole number from 1 on. */
export function parsePositiveNumber(text: string): number | undefined {
  return parseWholeNumber(text) || undefined;
}

/** Reads the number of a port; 0 stands for any free one. */
export function parsePort(text: string): number | undefined {
  const port = parseWholeNumber(text);
  return port !== undefined && port <= 65_535 ? port : undefined;
}
