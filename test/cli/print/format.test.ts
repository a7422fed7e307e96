import { expect, it } from "vitest";
import {
  formatAgo,
  formatByteSize,
  formatElapsed,
  formatRemaining,
  formatRoughRemaining,
} from "../../../src/cli/print/format.ts";

it.each<[durationMs: number, text: string]>([
  [-1, "0s"],
  [999, "0s"],
  [41_000, "41s"],
  [119_999, "1m 59s"],
  [11_527_000, "3h 12m"],
  [86_400_000, "1d"],
  [86_401_000, "1d"],
  [180_000_000, "2d 2h"],
])("writes %i ms that have passed as %s, which is never more", (durationMs, text) => {
  expect(formatElapsed(durationMs)).toBe(text);
});

it.each<[durationMs: number, text: string]>([
  [0, "0s"],
  [1, "1s"],
  [60_000, "1m"],
  [61_000, "1m 1s"],
  [3_599_001, "1h"],
  [11_527_000, "3h 13m"],
  [86_401_000, "1d 1h"],
  [30 * 86_400_000 - 1, "30d"],
])("writes %i ms that are left as %s, which is never less", (durationMs, text) => {
  expect(formatRemaining(durationMs)).toBe(text);
});

it.each<[durationMs: number, text: string]>([
  [0, "0s"],
  [1, "1s"],
  [119_000, "119s"],
  [119_001, "2m"],
  [120_001, "3m"],
  [25 * 3_600_000, "25h"],
  [30 * 86_400_000 - 1, "30d"],
])("writes %i ms that are left in one unit as %s, which is never less", (durationMs, text) => {
  expect(formatRoughRemaining(durationMs)).toBe(text);
});

it("writes how long ago a moment was in one unit", () => {
  expect(formatAgo(0, 11_527_000)).toBe("3h ago");
});

it("writes a size for people", () => {
  expect([0, 1, 1_023, 1_536, 12_582_912].map(formatByteSize)).toEqual([
    "0 bytes",
    "1 byte",
    "1023 bytes",
    "1.5 KiB",
    "12.0 MiB",
  ]);
});
