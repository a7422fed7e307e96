/** A number that may be absent, as databases keep it: an integer, or NULL. */
export function toNullable(value: number | undefined): bigint | null {
  return value === undefined ? null : BigInt(value);
}

/** Reads what `toNullable` has written. */
export function fromNullable(value: bigint | null): number | undefined {
  return value === null ? undefined : Number(value);
}
