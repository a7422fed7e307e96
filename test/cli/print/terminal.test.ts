import { describe, expect, it } from "vitest";
import {
  formatTable,
  printable,
  printableJson,
  printableJsonLine,
  wrapWords,
} from "../../../src/cli/print/terminal.ts";

describe("a text on a terminal", () => {
  it.each<[name: string, text: string, expected: string]>([
    ["shows visible characters", "Zoë's 3. Till – 猫", "Zoë's 3. Till – 猫"],
    ["moves no cursor", "a\u001b[2Jb\u009b2Jc\u007f\u0000", "a�[2Jb�2Jc��"],
    ["is one line", "a\nb\r\u2028c\u2029d\u0085", "a�b��c�d�"],
    ["changes the direction of no text", "a\u202eb\u2066c\u200fd", "a�b�c�d"],
    ["hides nothing", "a\u200bb\u{e0041}c\ufeff", "a�b�c�"],
  ])("%s", (_name, text, expected) => {
    expect(printable(text)).toBe(expected);
  });
});

it("aligns a table of more rows than a function takes arguments", () => {
  const rows = Array.from({ length: 200_000 }, (_, row) => [String(row), "a"]);
  const lines = formatTable([["ID", "NAME"], ...rows]).split("\n");
  expect([lines.length, lines[1], lines[200_000]]).toEqual([200_002, "0       a", "199999  a"]);
});

it.each<[what: string, width: number | undefined, expected: string]>([
  ["on one line without a width", undefined, "one 猫猫 three-and-more four"],
  ["between words", 14, "one 猫猫\nthree-and-more\nfour"],
  ["never within a word", 6, "one\n猫猫\nthree-and-more\nfour"],
])("breaks a text %s", (_what, width, expected) => {
  expect(wrapWords("one 猫猫 three-and-more four", width)).toBe(expected);
});

describe("JSON on a terminal", () => {
  const hostile = { "\u009bname": ["\u001b[2J\u009b\u007f\u2028\u202e\u{e0041}\n", "Zoë"] };

  it("is the same value, in visible characters", () => {
    expect(printableJsonLine(hostile)).toBe(
      String.raw`{"\u009bname":["\u001b[2J\u009b\u007f\u2028\u202e\udb40\udc41\n","Zoë"]}`,
    );
    expect(JSON.parse(printableJsonLine(hostile))).toEqual(hostile);
  });

  it("may be indented", () => {
    expect(printableJson(hostile).split("\n").length).toBe(6);
    expect(JSON.parse(printableJson(hostile))).toEqual(hostile);
  });
});
