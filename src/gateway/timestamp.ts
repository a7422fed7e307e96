import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema, type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { ContentFault } from "./content-fault.ts";

const timestamp =
  /^([0-9]{4}-[0-9]{2}-)([0-9]{2})(T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:[0-9]{2})$/;

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, in seconds since the Unix epoch. Source: timestamp.proto. */
const minSeconds = -62_135_596_800;
const maxSeconds = 253_402_300_799;

/** Reads an RFC 3339 time, to the nanosecond. Throws `ContentFault`. */
export function parseTimestamp(text: string): Timestamp {
  const [, month = "", day = "", time = "", fraction = "", zone = ""] = timestamp.exec(text) ?? [];
  const seconds = Date.parse(`${month}${day}${time}${zone}`) / 1000;
  if (!(seconds >= minSeconds && seconds <= maxSeconds) || !isDayOfMonth(month, day)) {
    throw new ContentFault("must be a time such as 2026-01-31T12:00:00Z");
  }
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: parseNanos(fraction) });
}

/** `Date.parse` takes the 30th of February for the 2nd of March. `month` is `YYYY-MM-`. */
function isDayOfMonth(month: string, day: string): boolean {
  return new Date(`${month}${day}T00:00:00Z`).getUTCDate() === Number(day);
}

const duration = /^(-?)([0-9]{1,12})(?:\.([0-9]{1,9}))?s$/;

/** Some 10,000 years. Source: duration.proto. */
const maxDurationSeconds = 315_576_000_000;

/** Reads a duration in seconds, such as `1.5s`, to the nanosecond. Throws `ContentFault`. */
export function parseDuration(text: string): Duration {
  const [, sign, digits, fraction = ""] = duration.exec(text) ?? [];
  const seconds = Number(digits);
  if (!(seconds <= maxDurationSeconds)) {
    throw new ContentFault("must be a duration in seconds, such as 1.5s");
  }
  const nanos = parseNanos(fraction);
  return sign === "-"
    ? create(DurationSchema, { seconds: BigInt(-seconds), nanos: nanos === 0 ? 0 : -nanos })
    : create(DurationSchema, { seconds: BigInt(seconds), nanos });
}

function parseNanos(fraction: string): number {
  return Number(fraction.padEnd(9, "0"));
}
