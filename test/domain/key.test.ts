import { describe, expect, it } from "vitest";
import { type FoundKey, newKey, quotaOf, refusalOf } from "../../src/domain/key.ts";

const key = newKey({ id: "key_1", name: "", plan: "free", createdAtMs: 0 });

describe("a key", () => {
  it.each([
    ["free", undefined, { perMinute: 60, perDay: 1_000 }],
    ["pro", undefined, { perMinute: 300, perDay: 10_000 }],
    ["business", undefined, { perMinute: 1_000, perDay: 100_000 }],
    ["enterprise", { perMinute: 5, perDay: 3 }, { perMinute: 5, perDay: 3 }],
    ["free", { perMinute: 5, perDay: 3 }, { perMinute: 60, perDay: 1_000 }],
  ] as const)("of the plan %s that was given %j has the quota %j", (plan, customQuota, expected) => {
    expect(quotaOf({ ...key, plan, customQuota })).toEqual(expected);
  });

  it("of the enterprise plan has to have a quota", () => {
    expect(() => quotaOf({ ...key, plan: "enterprise" })).toThrow("key_1");
  });

  it.each<[title: string, found: Partial<FoundKey["key"] & FoundKey>, expected: string | undefined]>([
    ["without an end is valid", {}, undefined],
    ["is valid until its end", { expiresAtMs: 1_001 }, undefined],
    ["has expired at its end", { expiresAtMs: 1_000 }, "API_KEY_EXPIRED"],
    ["is valid until the end of its secret", { expiresAtMs: 5_000, secretExpiresAtMs: 1_001 }, undefined],
    ["has expired at the end of its secret", { expiresAtMs: 5_000, secretExpiresAtMs: 1_000 }, "API_KEY_EXPIRED"],
    ["is revoked, whenever that was", { revokedAtMs: 9_000 }, "API_KEY_REVOKED"],
    ["is revoked rather than expired", { revokedAtMs: 1, expiresAtMs: 1 }, "API_KEY_REVOKED"],
  ])("%s", (_title, { secretExpiresAtMs, ...fields }, expected) => {
    expect(refusalOf({ key: { ...key, ...fields }, secretExpiresAtMs }, 1_000)?.code).toBe(expected);
  });
});
