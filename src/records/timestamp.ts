import { maxTimestampMs, minTimestampMs } from "../domain/timestamp.ts";

// RFC 3339, section 5.6: date-time.
const dateTime = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/**
 * Reads an RFC 3339 date and time, of the years 1 to 9999, as milliseconds since the Unix epoch. Undefined when it is
 * anything else: no such day, a leap second, or a fraction finer than a millisecond.
 */
export function parseTimestamp(text: string): number | undefined {
  const match = dateTime.exec(text);
  if (match === null) {
    return undefined;
  }
  const [, year, month, day, hour, minute, second, fraction = "", sign = "+", offsetHour = "0", offsetMinute = "0"] =
    match;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59 || !/^\d{0,3}0*$/.test(fraction)) {
    return undefined;
  }
  const utc = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
  const utcMs = Date.parse(utc);
  // Date takes 30 February for 1 March, and 24:00 for the next day: only what comes out as it went in is a date.
  if (Number.isNaN(utcMs) || new Date(utcMs).toISOString() !== utc) {
    return undefined;
  }
  const offsetMs = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000;
  return inRange(sign === "-" ? utcMs + offsetMs : utcMs - offsetMs);
}

/** Writes milliseconds since the Unix epoch as RFC 3339, in UTC, with milliseconds only where there are any. */
export function formatTimestamp(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(".000Z", "Z");
}

function inRange(timeMs: number): number | undefined {
  return timeMs >= minTimestampMs && timeMs <= maxTimestampMs ? timeMs : undefined;
}
