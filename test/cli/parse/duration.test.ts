import { expect, it } from "vitest";
import { formatByteSize, parseByteSize, writeByteSize } from "../../../src/cli/parse/byte-size.ts";
import { formatDuration, parseDuration, writeDuration } from "../../../src/cli/parse/duration.ts";

it.each<[durationMs: number, text: string]>([
  [0, "0s"],
  [1, "1s"],
  [41_000, "41s"],
  [60_000, "1m"],
  [61_000, "1m 1s"],
  [11_527_000, "3h 12m"],
  [86_400_000, "1d"],
  [86_401_000, "1d"],
  [180_000_000, "2d 2h"],
])("shows %i ms to people as %s", (durationMs, text) => {
  expect(formatDuration(durationMs)).toBe(text);
});

it.each(["0s", "90s", "1m", "36h", "30d"])("writes a duration as it is read: %s", (text) => {
  expect(writeDuration(parseDuration(text) ?? -1)).toBe(text);
});

it.each(["1", "1023", "3KiB", "1MiB", "1GiB"])("writes a size as it is read: %s", (text) => {
  expect(writeByteSize(parseByteSize(text) ?? -1)).toBe(text);
});

it("shows a size to people", () => {
  expect([0, 1_023, 1_536, 12_582_912].map(formatByteSize)).toEqual(["0 bytes", "1023 bytes", "1.5 KiB", "12.0 MiB"]);
});
