import { expect, it } from "vitest";
import { parseLimits } from "../../client/src/limits.ts";

const now = Date.UTC(2026, 0, 1);

const whole = {
  "x-ratelimit-limit": "60",
  "x-ratelimit-remaining": "59",
  "x-ratelimit-reset": "1767225660",
  "ratelimit-policy": '"minute";q=60;w=60, "day";q=1000;w=86400',
  ratelimit: '"minute";r=59;t=60, "day";r=998;t=86000',
};

const minute = { name: "minute", limit: 60, lengthSeconds: 60, remaining: 59, reset: new Date(now + 60_000) };
const day = { name: "day", limit: 1_000, lengthSeconds: 86_400, remaining: 998, reset: new Date(now + 86_000_000) };
const limits = { limit: 60, remaining: 59, reset: new Date("2026-01-01T00:01:00Z"), windows: [minute, day] };

/** As headers and trailers come when they are joined. */
const joined = Object.fromEntries(Object.entries(whole).map(([name, value]) => [name, `${value}, ${value}`]));

it.each<[title: string, headers: Record<string, string | undefined>, expected: unknown]>([
  ["are read", whole, limits],
  ["are read once where they stand twice", joined, limits],
  ["are read as the last says", { ...whole, "x-ratelimit-remaining": "59, 58" }, { ...limits, remaining: 58 }],
  ["are read whatever the spaces", { ...whole, ratelimit: '"minute"; r=59 ; t=60,"day";t=86000;r=998' }, limits],
  ["have the windows that are whole", { ...whole, ratelimit: '"day";r=998;t=86000' }, { ...limits, windows: [day] }],
  ["have no windows without a policy", { ...whole, "ratelimit-policy": undefined }, { ...limits, windows: [] }],
  ["are none without headers", {}, undefined],
  ["are none when one is missing", { ...whole, "x-ratelimit-reset": undefined }, undefined],
  ["are none when one is no number", { ...whole, "x-ratelimit-limit": "many" }, undefined],
  ["are none when one is negative", { ...whole, "x-ratelimit-remaining": "-1" }, undefined],
])("limits %s", (_title, headers, expected) => {
  const present = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  expect(parseLimits(new Headers(present), now)).toEqual(expected);
});
