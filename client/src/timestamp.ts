/** A moment in UTC, to the nanosecond. */
export interface Timestamp {
  /** Unix seconds. */
  seconds: bigint;
  /** The nanoseconds after them, from 0 to 999,999,999. */
  nanos: number;
}

/** The moment as a `Date`, to the millisecond. */
export function toDate({ seconds, nanos }: Timestamp): Date {
  return new Date(Number(seconds) * 1_000 + Math.floor(nanos / 1_000_000));
}
