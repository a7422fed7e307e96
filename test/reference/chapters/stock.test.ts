import { describe, expect, it } from "vitest";
import { changeKinds } from "../../../src/domain/history.ts";
import { holdStates } from "../../../src/domain/hold.ts";
import { idempotencyMs } from "../../../src/domain/idempotency.ts";
import { stockChapter as chapter, stockText as text } from "./stock-chapter.ts";

/** The first cells of the table with a head. */
function firstCells(head: string): string[] {
  const [, rows = ""] = new RegExp(`<th[^>]*>${head}</th>.*?<tbody>(.*?)</tbody>`, "s").exec(chapter) ?? [];
  return [...rows.matchAll(/<tr>\s*<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = ""]) => cell.replaceAll(/<[^>]+>/g, ""));
}

describe("the chapter on changing stock", () => {
  it("has each state of a hold", () => {
    expect(firstCells("State")).toEqual([...holdStates]);
  });

  it("has each kind of a change", () => {
    expect(firstCells("Kind")).toEqual([...changeKinds]);
  });

  it("says how long an idempotency key is remembered, and which operations take one", () => {
    expect(text).toContain(`within ${idempotencyMs / 3_600_000} hours`);
    const taking = ["PATCH /inventory/{petId}", "POST /inventory/{petId}:adjust", "POST /inventory:batch"];
    const holds = ["POST /holds", "POST /holds/{holdId}:commit", "POST /holds/{holdId}:release"];
    expect(text).toContain(`${[...taking, ...holds].join(", ")} take one.`);
  });

  it.each(["for 15 minutes, or as long as", "from 1 second to 7 days", "up to 1,000 changes"])("says %s", (told) => {
    expect(text).toContain(told);
  });

  it("says how long texts may be", () => {
    expect(text).toContain("reason, of up to 64 characters");
    expect(text).toContain("in reference, of up to 255.");
  });

  it("has samples with the headers that it tells of", () => {
    expect(text).toContain("-H 'If-Match: \"17\"'");
    expect(text).toContain("-H 'Idempotency-Key: 8e03978e-40d5-43dd-bc93-6894a57f9324'");
    expect(text).toContain("/inventory/changes?after=");
  });
});
