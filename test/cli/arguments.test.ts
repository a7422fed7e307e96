import { expect, it } from "vitest";
import { parseByteSize, parseDuration, writeByteSize, writeDuration } from "../../src/cli/arguments.ts";

it.each(["0s", "90s", "1m", "36h", "30d"])("writes a duration as it is read: %s", (text) => {
  expect(writeDuration(parseDuration(text) ?? -1)).toBe(text);
});

it.each(["1", "1023", "3KiB", "1MiB", "1GiB"])("writes a size as it is read: %s", (text) => {
  expect(writeByteSize(parseByteSize(text) ?? -1)).toBe(text);
});
