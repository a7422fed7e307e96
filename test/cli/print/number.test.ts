import { expect, it } from "vitest";
import { formatByteSize } from "../../../src/cli/print/number.ts";

it("writes a size for people", () => {
  expect([0, 1_023, 1_536, 12_582_912].map(formatByteSize)).toEqual(["0 bytes", "1023 bytes", "1.5 KiB", "12.0 MiB"]);
});
