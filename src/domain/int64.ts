/** The range of a signed 64-bit integer: identifiers and quantities may be any of them. */
export const minInt64 = -(2n ** 63n);
export const maxInt64 = 2n ** 63n - 1n;

/** Whether a value fits a signed 64-bit integer. */
export function isInt64(value: bigint): boolean {
  return minInt64 <= value && value <= maxInt64;
}
