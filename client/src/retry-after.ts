/**
 * The delay of a `Retry-After` header in milliseconds, be it seconds or an HTTP date, from `now` in Unix milliseconds;
 * undefined for none, or for neither. Over gRPC the trailers have the header, too, and the two values arrive joined.
 * The first counts.
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
