/**
 * When requests are due: at a fixed rate, on ticks. The requests of one tick are due together. Both fields are whole
 * numbers.
 */
export interface Schedule {
  readonly ratePerSecond: number;
  readonly ticksPerSecond: number;
}

/** How many requests are due within the first `elapsedMs`. */
export function countDue({ ratePerSecond, ticksPerSecond }: Schedule, elapsedMs: number): number {
  const ticks = Math.floor((elapsedMs * ticksPerSecond) / 1000);
  return Math.floor((ticks * ratePerSecond) / ticksPerSecond);
}

/** When a request is due, in ms since the start. The first one has the number 0. */
export function dueMs({ ratePerSecond, ticksPerSecond }: Schedule, number: number): number {
  const tick = Math.ceil(((number + 1) * ticksPerSecond) / ratePerSecond);
  return (tick * 1000) / ticksPerSecond;
}
