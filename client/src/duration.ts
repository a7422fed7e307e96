/** A length of time, such as that of a hold. */
export interface Duration {
  /** Whole seconds; 0 by default. */
  seconds?: bigint | undefined;
  /** The nanoseconds on top of them, from 0 to 999,999,999; 0 by default. */
  nanos?: number | undefined;
}

/** A length of time in milliseconds, at least 0, as a `Duration`. */
export function toDuration(ms: number): Duration {
  const seconds = Math.floor(ms / 1_000);
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1_000) * 1_000_000) };
}
