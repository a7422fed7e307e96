import { argument } from "./argument.ts";
import { parseDuration } from "./duration.ts";

/** Reads how long something may go on, in milliseconds. Throws for more than a timer can count. */
export const parseGrace = argument(parseTimer, "a duration such as 10s or 5m, of 24d at most");

/** Reads how long to wait for something, in milliseconds. Throws for nothing, and for more than a timer can count. */
export const parseTimeout = argument(
  (text) => parseTimer(text) || undefined,
  "a duration such as 30s or 5m, of 24d at most, and not nothing",
);

// Node's timers count 2^31 - 1 ms, and fire at once beyond that.
const maxTimerMs = 2 ** 31 - 1;

function parseTimer(text: string): number | undefined {
  const durationMs = parseDuration(text);
  return durationMs !== undefined && durationMs <= maxTimerMs ? durationMs : undefined;
}
