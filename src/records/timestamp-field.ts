import { maxTimestampMs, minTimestampMs } from "../domain/ranges.ts";
import { type FieldFormat, text } from "./field.ts";
import { quote } from "./quotation.ts";
import { FieldError } from "./record-error.ts";

/** A moment in milliseconds since the Unix epoch, written as RFC 3339. */
export const timestamp: FieldFormat<number> = {
  parseCell: (cell) => {
    const timeMs = parseTimestamp(cell);
    if (timeMs !== undefined) {
      return timeMs;
    }
    throw new FieldError(
      `must be an RFC 3339 date and time no finer than a millisecond, such as 2026-06-01T12:00:00Z, not ${quote(cell)}`,
    );
  },
  formatCell: formatTimestamp,
  parseJson: (value) => timestamp.parseCell(text.parseJson(value)),
  formatJson: formatTimestamp,
};

// RFC 3339, section 5.6: date-time.
const dateTime = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/**
 * Reads an RFC 3339 date and time of the years 1 to 9999. Undefined for anything else: a day that does not exist, a leap
 * second, or a fraction finer than a millisecond.
 */
function parseTimestamp(text: string): number | undefined {
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
  // Date reads 30 February as 1 March, and 24:00 as the next day. A valid date comes out as it went in.
  if (Number.isNaN(utcMs) || new Date(utcMs).toISOString() !== utc) {
    return undefined;
  }
  const offsetMs = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000;
  return inRange(sign === "-" ? utcMs + offsetMs : utcMs - offsetMs);
}

/** In UTC, with milliseconds only where they are not zero. */
function formatTimestamp(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(".000Z", "Z");
}

function inRange(timeMs: number): number | undefined {
  return timeMs >= minTimestampMs && timeMs <= maxTimestampMs ? timeMs : undefined;
}
