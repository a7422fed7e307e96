import { describe, expect, it } from "vitest";
import { ChangeTable, changeToJsonLine } from "../../../src/cli/print/change-table.ts";
import { widthOf } from "../../../src/cli/print/terminal.ts";
import type { StockChange } from "../../../src/domain/history.ts";
import { maxInt64, minInt64 } from "../../../src/domain/ranges.ts";

function change(parts: Partial<StockChange>): StockChange {
  return {
    revision: 17n,
    petId: 7n,
    before: 12n,
    after: 10n,
    kind: "adjust",
    reason: "sale",
    reference: "order 17",
    keyId: "key_4kD0aT7uLw2QxYzB",
    requestId: "r-1",
    occurredAtMs: Date.UTC(2026, 5, 1, 12, 30, 5, 250),
    ...parts,
  };
}

const imported = change({
  before: undefined,
  kind: "import",
  reason: undefined,
  reference: undefined,
  keyId: undefined,
  requestId: undefined,
});
const keyNames = new Map([["key_4kD0aT7uLw2QxYzB", "Till 3"]]);

describe("a table of changes", () => {
  it("says when, what, who and why", () => {
    const table = new ChangeTable({ keyNames, width: undefined });
    expect(table.append([imported, change({})])).toBe(
      [
        "WHEN                  PET  BEFORE  AFTER  KIND    WHO        WHY",
        "2026-06-01 12:30:05Z  7    -       10     import  a command  -",
        "2026-06-01 12:30:05Z  7    12      10     adjust  Till 3     sale, order 17",
        "",
      ].join("\n"),
    );
  });

  it("goes on without a second header, and never becomes narrower", () => {
    const table = new ChangeTable({ keyNames, width: undefined });
    table.append([imported]);
    expect(table.append([change({ petId: 123_456n })])).toBe(
      "2026-06-01 12:30:05Z  123456  12      10     adjust  Till 3     sale, order 17\n",
    );
    expect(table.append([])).toBe("");
  });

  it.each([80, 100, 132])("fits %i columns with long names and reasons", (width) => {
    const table = new ChangeTable({ keyNames: new Map([["k", "犬".repeat(50)]]), width });
    const text = table.append([change({ keyId: "k", reason: "x".repeat(64), reference: "y".repeat(255) })]);
    expect(text).toContain("adjust");
    expect(Math.max(...text.split("\n").map(widthOf))).toBeLessThanOrEqual(width);
  });

  it("shows the whole of every number", () => {
    const table = new ChangeTable({ keyNames, width: 80 });
    const text = table.append([change({ petId: maxInt64, before: minInt64, after: minInt64 })]);
    expect(text).toContain(`${maxInt64}  ${minInt64}  ${minInt64}`);
  });

  it("lets no text obey a terminal", () => {
    const table = new ChangeTable({ keyNames: new Map([["k", "\u001b[2J"]]), width: undefined });
    expect(table.append([change({ keyId: "k", reason: "a\u202eb" })])).not.toMatch(/\p{Cf}|\p{Cc}(?<!\n)/u);
  });

  it("names a key that is no longer listed by its id", () => {
    const table = new ChangeTable({ keyNames: new Map(), width: undefined });
    expect(table.append([change({})])).toContain("key_4kD0aT7uLw2QxYzB");
  });
});

describe("a change in JSON", () => {
  it("has the fields and the exact numbers of the API", () => {
    expect(changeToJsonLine(change({ petId: maxInt64 }), "9c1f04b7aa52")).toMatch(
      /^\{"cursor":"[A-Za-z0-9_-]{26}","revision":17,"petId":9223372036854775807,"before":12,"after":10,"kind":"adjust","reason":"sale","reference":"order 17","keyId":"key_4kD0aT7uLw2QxYzB","requestId":"r-1","occurredAt":"2026-06-01T12:30:05.250Z"\}$/,
    );
  });

  it("leaves out what was not given", () => {
    expect(Object.keys(JSON.parse(changeToJsonLine(imported, "9c1f04b7aa52")))).toEqual([
      "cursor",
      "revision",
      "petId",
      "after",
      "kind",
      "occurredAt",
    ]);
  });
});
