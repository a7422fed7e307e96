import { describe, expect, it } from "vitest";
import { formatKeys, type KeyStatus, keyStatus } from "../../../src/cli/print/keys.ts";
import { widthOf } from "../../../src/cli/print/terminal.ts";
import { type Key, newKey } from "../../../src/domain/key.ts";
import { noUsage, type Usage } from "../../../src/domain/limits.ts";

const nowMs = Date.UTC(2026, 5, 1, 12);
const hourMs = 3_600_000;

function statusOf(key: Partial<Key>, usage: Partial<Usage> = {}, calls: readonly string[] = []): KeyStatus {
  const settled = { id: "key_4kD0aT7uLw2QxYzB", name: "Till 3", plan: "pro", createdAtMs: nowMs - hourMs } as const;
  const saved = {
    usage: { ...noUsage, ...usage },
    deprecatedCalls: new Map(calls.map((call) => [call, nowMs - 5_000])),
  };
  return keyStatus(newKey({ ...settled, ...key } as Key), { keyId: "", lastUsedAtMs: 0, ...saved }, nowMs);
}

const day = (count: number) => ({ day: { openedAtMs: nowMs - hourMs, count } });

/** Keys of all plans and states, with the longest names, numbers and ids. */
const keys = [
  statusOf({}),
  statusOf({ name: "x".repeat(100), lastUsedAtMs: nowMs - 59_000 }, day(9_999)),
  statusOf({ id: "key_demo_4kD0aT7uLw2QxYzB", name: "demo", revokedAtMs: nowMs - 400 * 24 * hourMs }),
  statusOf({ plan: "business", name: "犬".repeat(20), expiresAtMs: nowMs + 300 * 24 * hourMs }, day(99_999)),
  statusOf({ name: "Old", scopes: ["pets:read", "orders:read"] }, {}, ["petstore.v1.PetService/GetPet"]),
  statusOf(
    { plan: "enterprise", customQuota: { perMinute: 12_345, perDay: 1_000_000 } },
    { ...day(999_999), ban: { step: 5, endsAtMs: nowMs + 23 * hourMs } },
  ),
];

function linesOf(width: number | undefined, shown = keys): string[] {
  return formatKeys(shown, { nowMs, width }).split("\n");
}

describe("a table of keys", () => {
  it.each([80, 100, 120, 160, 200])("has one row per key, and fits %i columns", (width) => {
    const lines = linesOf(width);
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(width);
    expect(lines.indexOf("")).toBe(keys.length + 1);
    for (const [index, { key }] of keys.entries()) {
      expect(lines[index + 1]).toMatch(new RegExp(`^${key.id} `));
    }
  });

  it("has the most important columns at 80 columns", () => {
    expect(linesOf(80, keys.slice(0, 2))).toEqual([
      "ID                    NAME                      PLAN  DAY       LAST USED  STATE",
      "key_4kD0aT7uLw2QxYzB  Till 3                    pro   0/10k     -          live",
      "key_4kD0aT7uLw2QxYzB  xxxxxxxxxxxxxxxxxxxxxxx…  pro   9999/10k  59s ago    live",
      "",
    ]);
  });

  it.each<[number | undefined, string]>([
    [65, "ID NAME PLAN DAY LAST USED STATE"],
    [70, "ID NAME PLAN MINUTE DAY LAST USED STATE"],
    [80, "ID NAME PLAN EXPIRES MINUTE DAY LAST USED STATE"],
    [90, "ID NAME PLAN SCOPES EXPIRES MINUTE DAY LAST USED STATE"],
    [120, "ID NAME PLAN SCOPES CREATED EXPIRES MINUTE DAY LAST USED STATE"],
    [undefined, "ID NAME PLAN DAY LAST USED STATE"],
  ])("has the columns that fit %s", (width, header) => {
    expect(linesOf(width, keys.slice(0, 1))[0]?.replaceAll(/ +/g, " ")).toBe(header);
  });

  it("has all columns in its wide form, and cuts no name", () => {
    const [header, , row] = formatKeys(keys, { nowMs, width: 80, wide: true }).split("\n");
    expect(header).toMatch(/ SCOPES +CREATED +EXPIRES +MINUTE +DAY /);
    expect(row).toContain(` ${"x".repeat(100)} `);
  });

  it("leaves out the last use when nothing else makes room", () => {
    const wide = statusOf(
      { id: "key_demo_4kD0aT7uLw2QxYzB", plan: "enterprise", customQuota: { perMinute: 1, perDay: 1_234_567 } },
      { ...day(1_234_567), ban: { step: 5, endsAtMs: nowMs + 23 * hourMs } },
    );
    expect(linesOf(80, [wide])).toEqual([
      "ID                         NAME    PLAN        DAY              STATE",
      "key_demo_4kD0aT7uLw2QxYzB  Till 3  enterprise  1234567/1234567  banned for 23h",
      "",
    ]);
  });

  it("counts wide characters twice", () => {
    const [, line] = linesOf(80, [statusOf({ name: "犬🐈".repeat(50), plan: "business" })]);
    expect(line).toBe("key_4kD0aT7uLw2QxYzB  犬🐈犬🐈犬🐈犬🐈犬🐈…  business  0/100k  -          live");
  });

  it("takes more keys than a function takes arguments", () => {
    const many = Array.from({ length: 150_000 }, () => keys[0] as KeyStatus);
    expect(linesOf(80, many).length).toBe(150_002);
  });

  it("cuts no names without a terminal", () => {
    expect(linesOf(undefined)[2]).toContain("x".repeat(100));
  });
});
