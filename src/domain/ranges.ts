/** The range of a signed 64-bit integer: ids and quantities may be any of them. */
export const minInt64 = -(2n ** 63n);
export const maxInt64 = 2n ** 63n - 1n;

/** Whether a value fits a signed 64-bit integer. */
export function isInt64(value: bigint): boolean {
  return minInt64 <= value && value <= maxInt64;
}

/**
 * The range of all times, in milliseconds since the Unix epoch: the years 1 to 9999, which RFC 3339 and
 * google.protobuf.Timestamp can express.
 */
export const minTimestampMs = Date.parse("0001-01-01T00:00:00.000Z");
export const maxTimestampMs = Date.parse("9999-12-31T23:59:59.999Z");

/** `Math.min` for two bigints. */
export function lesserOf(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** `Math.max` for two bigints. */
export function greaterOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** The key of an id in a map, which finds numbers in less than half of the time that it takes for bigints. */
export function mapKeyOf(id: bigint): number | bigint {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : id;
}
