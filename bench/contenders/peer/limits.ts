import type { KeyQuota } from "./key-check.ts";

interface Window {
  count: number;
  endsAtMs: number;
}

/** What a key's caller is told: whether it is admitted, and the headers of its limits. */
export interface Admission {
  readonly isAdmitted: boolean;
  readonly headers: readonly [name: string, value: string][];
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Counts each key in two fixed windows, which are kept in memory: a limiter as people write it by hand. */
export function createLimiter(): (key: KeyQuota) => Admission {
  const minutes = new Map<string, Window>();
  const days = new Map<string, Window>();

  return (key) => {
    const nowMs = Date.now();
    const minute = windowOf(minutes, key.id, { lengthMs: minuteMs, nowMs });
    const day = windowOf(days, key.id, { lengthMs: dayMs, nowMs });
    const isAdmitted = minute.count < key.perMinute && day.count < key.perDay;
    if (isAdmitted) {
      minute.count += 1;
      day.count += 1;
    }
    const inMinute = key.perMinute - minute.count;
    const inDay = key.perDay - day.count;
    return {
      isAdmitted,
      headers: inMinute < inDay ? describe(key.perMinute, inMinute, minute) : describe(key.perDay, inDay, day),
    };
  };
}

function windowOf(windows: Map<string, Window>, id: string, at: { lengthMs: number; nowMs: number }): Window {
  let window = windows.get(id);
  if (window === undefined || window.endsAtMs <= at.nowMs) {
    window = { count: 0, endsAtMs: at.nowMs + at.lengthMs };
    windows.set(id, window);
  }
  return window;
}

function describe(limit: number, remaining: number, { endsAtMs }: Window): [name: string, value: string][] {
  return [
    ["x-ratelimit-limit", String(limit)],
    ["x-ratelimit-remaining", String(remaining)],
    ["x-ratelimit-reset", String(Math.ceil(endsAtMs / 1000))],
  ];
}
