/**
 * Reads the windows of a key from the headers `RateLimit-Policy` and `RateLimit`. Undefined without these headers. The
 * ends are in milliseconds since the Unix epoch.
 *
 * Source: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function parseWindows(headers, nowMs) {
  const quotas = new Map([...(headers["ratelimit-policy"] ?? "").matchAll(/"(\w+)";q=(\d+)/g)].map(([, ...of]) => of));
  const windows = [...(headers.ratelimit ?? "").matchAll(/"(\w+)";r=(\d+);t=(\d+)/g)].map(
    ([, name, remaining, seconds]) => ({
      name,
      limit: Number(quotas.get(name)),
      remaining: Number(remaining),
      endsAtMs: nowMs + Number(seconds) * 1_000,
    }),
  );
  return windows.length === 0 ? undefined : windows;
}

/** The requests that are left in each window. A window that has ended has all of them. */
export function describeWindows(windows, nowMs) {
  const names = { minute: "this minute", day: "today" };
  return windows.map(({ name, limit, remaining, endsAtMs }) => {
    const left = nowMs < endsAtMs ? remaining : limit;
    return `${writeCount(left)} of ${writeCount(limit)} left ${names[name] ?? `in this ${name}`}`;
  });
}

function writeCount(number) {
  return number.toLocaleString("en");
}
