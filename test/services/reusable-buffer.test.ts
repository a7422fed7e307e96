import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ReusableBuffer } from "../../src/services/reusable-buffer.ts";

const text = fc.string({ unit: "grapheme" });
const part = fc.oneof(
  text,
  text.map((part) => Buffer.from(part)),
);
const parts = fc.array(part);

function bytesOf(parts: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(part as string)));
}

describe("a run of bytes", () => {
  it("is all that was added, in UTF-8, whatever its capacity and whatever stood there before", () => {
    fc.assert(
      fc.property(fc.nat(40), parts, parts, parts, (capacity, same, before, added) => {
        const run = new ReusableBuffer(capacity, bytesOf([...same, ...before]));
        const all = [...same, ...added];
        const given = all.map((part) => Buffer.from(run.append(part)));
        expect(given).toEqual(all.map((part) => bytesOf([part])));
        expect(Buffer.from(run.bytes())).toEqual(bytesOf(all));
      }),
    );
  });

  it("leaves the former run alone", () => {
    fc.assert(
      fc.property(fc.nat(40), parts, parts, (capacity, before, added) => {
        const former = bytesOf(before);
        const run = new ReusableBuffer(capacity, former);
        for (const part of added) {
          run.append(part);
        }
        expect(former).toEqual(bytesOf(before));
      }),
    );
  });

  it("is the former run itself where it is the same", () => {
    const former = Buffer.from("[1,2]");
    const run = new ReusableBuffer(100, former);
    for (const part of ["[1", Buffer.from(",2"), "]"]) {
      run.append(part);
    }
    expect(run.bytes()).toBe(former);
  });
});
