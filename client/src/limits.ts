/** The limits of the caller, as an answer tells them. */
export interface Limits {
  /** The requests that the window with the fewest remaining allows. */
  readonly limit: number;
  /** The requests that are left in it. */
  readonly remaining: number;
  /** When it starts again. */
  readonly reset: Date;
  /** All windows, the shortest first: those of a key are `minute` and `day`. */
  readonly windows: readonly LimitWindow[];
}

/** One window of a limit. */
export interface LimitWindow {
  readonly name: string;
  /** The requests that it allows. */
  readonly limit: number;
  readonly lengthSeconds: number;
  /** The requests that are left in it. */
  readonly remaining: number;
  /** When it starts again, to the second. */
  readonly reset: Date;
}

/**
 * Reads the limits from the headers of an answer, or from the metadata of a `ConnectError`; undefined when there are
 * none, as where the service did not answer. `now`, in Unix milliseconds, is when the answer came.
 *
 * Source: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function parseLimits(headers: Headers, now: number = Date.now()): Limits | undefined {
  const limit = parseCount(headers.get("x-ratelimit-limit"));
  const remaining = parseCount(headers.get("x-ratelimit-remaining"));
  const resetSeconds = parseCount(headers.get("x-ratelimit-reset"));
  if (limit === undefined || remaining === undefined || resetSeconds === undefined) {
    return undefined;
  }
  return { limit, remaining, reset: new Date(resetSeconds * 1_000), windows: parseWindows(headers, now) };
}

/** Over gRPC an error has the headers in its trailers, too, and the two values arrive joined. The last one counts. */
function parseCount(value: string | null): number | undefined {
  const [, digits] = /(?:^|,)\s*(\d+)\s*$/.exec(value ?? "") ?? [];
  return digits === undefined ? undefined : Number(digits);
}

function parseWindows(headers: Headers, now: number): LimitWindow[] {
  const states = parseItems(headers.get("ratelimit"));
  const policies = parseItems(headers.get("ratelimit-policy"));
  return [...policies].flatMap(([name, policy]) => toWindow(name, { ...policy, ...states.get(name) }, now) ?? []);
}

/** The parameters of an item, by name: `q`, `w`, `r` and `t` are the draft's. */
type Parameters = Partial<Record<string, number>>;

function toWindow(name: string, { q, w, r, t }: Parameters, now: number): LimitWindow | undefined {
  if (q === undefined || w === undefined || r === undefined || t === undefined) {
    return undefined;
  }
  return { name, limit: q, lengthSeconds: w, remaining: r, reset: new Date(now + t * 1_000) };
}

/** The items of a structured list, such as `"minute";q=60;w=60, "day";q=1000;w=86400`, by name. Source: RFC 9651 */
function parseItems(list: string | null): Map<string, Parameters> {
  const items = (list ?? "").matchAll(/"([^"]*)"((?:\s*;\s*[a-z*][a-z0-9_.*-]*=\d+)*)/g);
  return new Map([...items].map(([, name = "", parameters = ""]) => [name, parseParameters(parameters)]));
}

function parseParameters(text: string): Parameters {
  const pairs = text.matchAll(/([a-z*][a-z0-9_.*-]*)=(\d+)/g);
  return Object.fromEntries([...pairs].map(([, name, digits]) => [name, Number(digits)]));
}
