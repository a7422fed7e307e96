/**
 * What an answer tells of a key's windows, by the headers `RateLimit-Policy` and `RateLimit`; undefined where it tells
 * nothing. Their ends are times of `Date.now()`.
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

/** What is left in the windows now: all of it in one that has ended. */
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
