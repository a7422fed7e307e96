import { expect, it } from "vitest";
import { textList } from "../../src/records/field.ts";

it.each<[string, string[]]>([
  ["", []],
  ["a", ["a"]],
  ["a;b", ["a", "b"]],
  [";", ["", ""]],
  ["\\", [""]],
  ["a\\;b", ["a;b"]],
  ["a\\\\;b", ["a\\", "b"]],
  ["\\\\", ["\\"]],
  ["C:\\dogs;b", ["C:\\dogs", "b"]],
])("writes and reads the list %s", (cell, list) => {
  expect(textList.formatCell(list)).toBe(cell);
  expect(textList.parseCell(cell)).toEqual(list);
});

it("reads a backslash at the end of a list as itself", () => {
  expect(textList.parseCell("a\\")).toEqual(["a\\"]);
});
