import fc from "fast-check";
import { expect, it } from "vitest";
import { ByteRun } from "../../src/services/byte-run.ts";

it("is all that was added, in UTF-8, whatever its capacity", () => {
  const text = fc.string({ unit: "grapheme" });
  const parts = fc.array(
    fc.oneof(
      text,
      text.map((part) => Buffer.from(part)),
    ),
  );
  fc.assert(
    fc.property(fc.nat(40), parts, (capacity, added) => {
      const run = new ByteRun(capacity);
      const given = added.map((part) => Buffer.from(run.append(part)));
      expect(given).toEqual(added.map((part) => Buffer.from(part)));
      expect(run.bytes()).toEqual(Buffer.concat(given));
    }),
  );
});
