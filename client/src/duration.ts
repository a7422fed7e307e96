/** A length of time, such as that of a hold. */
export interface Duration {
  /** Whole seconds; 0 by default. */
  seconds?: bigint | undefined;
  /** The nanoseconds on top of them, at most 999,999,999, with the sign of the seconds; 0 by default. */
  nanos?: number | undefined;
}

/** The longest duration, in milliseconds: 10,000 years. Source: google/protobuf/duration.proto */
const maxMs = 315_576_000_000_000;

/**
 * A length of time in milliseconds as a `Duration`, to the nanosecond. Throws a `RangeError` for what is no number, and
 * for more than 315,576,000,000 s in either direction.
 */
export function toDuration(ms: number): Duration {
  if (!(Math.abs(ms) <= maxMs)) {
    throw new RangeError(`toDuration: give a number of milliseconds from -${maxMs} to ${maxMs}, not ${ms}.`);
  }
  const wholeSeconds = Math.trunc(ms / 1_000);
  const nanos = Math.round((ms - wholeSeconds * 1_000) * 1_000_000);
  // Rounding may fill the second.
  const isFull = Math.abs(nanos) === 1_000_000_000;
  return {
    seconds: BigInt(isFull ? wholeSeconds + Math.sign(nanos) : wholeSeconds),
    // Adding 0 turns -0 into 0.
    nanos: isFull ? 0 : nanos + 0,
  };
}
