import { expect, it } from "vitest";
import { formatListCell, parseListCell } from "../../src/records/list-cell.ts";

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
])("writes and reads %s", (cell, list) => {
  expect(formatListCell(list)).toBe(cell);
  expect(parseListCell(cell)).toEqual(list);
});

it("reads a backslash at the end as itself", () => {
  expect(parseListCell("a\\")).toEqual(["a\\"]);
});
