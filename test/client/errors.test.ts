import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { fieldViolationsOf, reasonOf, retryDelayMsOf } from "../../client/src/errors.ts";
import { parseRetryAfter } from "../../client/src/retry-after.ts";
import { failure, overLimit } from "./failures.ts";

const now = Date.UTC(2026, 0, 1);

describe("an error", () => {
  it.each<[title: string, error: unknown, reason: unknown, fields: string[], delayMs: unknown]>([
    ["of the limits", overLimit(7), "RATE_LIMIT_EXCEEDED", [], 7_000],
    [
      "of fields",
      failure(Code.InvalidArgument, { reason: "INVALID_REQUEST", fields: ["a", "b[3].c_d", "Idempotency-Key"] }),
      "INVALID_REQUEST",
      ["a", "b[3].cD", "Idempotency-Key"],
      undefined,
    ],
    ["of a newer service", failure(Code.Internal, { reason: "NEWS" }), "NEWS", [], undefined],
    [
      "of another service",
      failure(Code.Internal, { reason: "NEWS", domain: "other.example" }),
      undefined,
      [],
      undefined,
    ],
    ["of a proxy", failure(Code.Unavailable, { retryAfter: "7" }), undefined, [], 7_000],
    ["with both delays", failure(Code.Unavailable, { retryAfter: "7", retrySeconds: 8 }), undefined, [], 8_000],
    ["of something else", new Error("no"), undefined, [], undefined],
    ["that is none", undefined, undefined, [], undefined],
  ])("%s is read", (_title, error, reason, fields, delayMs) => {
    expect(reasonOf(error)).toBe(reason);
    expect(fieldViolationsOf(error).map(({ field }) => field)).toEqual(fields);
    expect(retryDelayMsOf(error, now)).toBe(delayMs);
  });
});

describe("Retry-After", () => {
  it.each([
    [null, undefined],
    ["", undefined],
    ["0", 0],
    ["120", 120_000],
    ["120, 120", 120_000],
    ["Thu, 01 Jan 2026 00:00:30 GMT", 30_000],
    ["Thu, 01 Jan 2026 00:00:30 GMT, Thu, 01 Jan 2026 00:00:30 GMT", 30_000],
    ["Wed, 31 Dec 2025 23:59:59 GMT", 0],
    ["-1", undefined],
    ["1.5", undefined],
    ["1e3", undefined],
    ["soon", undefined],
    ["Foo, 99 Bar 2026 00:00:30 GMT", undefined],
  ])("%s is %s ms", (value, delayMs) => {
    expect(parseRetryAfter(value, now)).toBe(delayMs);
  });
});
