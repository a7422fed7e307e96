/**
 * The delay of a `Retry-After` header, in milliseconds. The header holds seconds, or an HTTP date, whose delay counts
 * from `now` in Unix milliseconds. Undefined without a header, and for any other value. Over gRPC the trailers have the
 * header, too, and the two values arrive joined. The first one counts.
 *
 * Source: RFC 9110, section 10.2.3
 */
export function parseRetryAfter(value: string | null, now: number): number | undefined {
  const [, seconds, date] = /^\s*(?:(\d+)|(\w{3}, [^,]+ GMT))\s*(?:,|$)/.exec(value ?? "") ?? [];
  if (seconds !== undefined) {
    return Number(seconds) * 1_000;
  }
  const time = Date.parse(date ?? "");
  return Number.isNaN(time) ? undefined : Math.max(0, time - now);
}
