import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConnectionError, ErrorCode } from "../../../src/http/http2/frames.ts";
import { decodeHuffman } from "../../../src/http/http2/header-decoder.ts";
import { endOfString, huffmanBits, packBits, readBits } from "./huffman-codes.ts";

const decode = (bytes: Buffer) => decodeHuffman(bytes, 0, bytes.length);

describe("a text in Huffman's code", () => {
  it("may have every byte, alone and behind and before every other one", () => {
    const all = Array.from({ length: 256 }, (_, byte) => byte);
    for (const first of all) {
      const texts = [[first], ...all.map((second) => [first, second]), [first, first, first]];
      for (const bytes of texts) {
        expect(decode(packBits(huffmanBits(Buffer.from(bytes))))).toBe(Buffer.from(bytes).toString("latin1"));
      }
    }
  });

  it("may be any", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(decode(packBits(huffmanBits(bytes)))).toBe(Buffer.from(bytes).toString("latin1"));
      }),
    );
  });

  it("may be empty", () => {
    expect(decode(Buffer.alloc(0))).toBe("");
  });

  it("is read from where it begins to where it ends", () => {
    expect(decodeHuffman(Buffer.from("fff1e3c2e5f23a6ba0ab90f4ffff", "hex"), 1, 13)).toBe("www.example.com");
  });
});

describe("a text in Huffman's code is refused", () => {
  const bits = (text: string) => huffmanBits(Buffer.from(text));

  it.each<[why: string, bytes: Buffer]>([
    ["with a padding of zeros", packBits(bits("a"), "0")],
    ["with a padding whose last bit is a zero", packBits(`${bits("a")}110`)],
    ["with a padding whose first bit is a zero", packBits(`${bits("0")}011`)],
    ["with a padding of 8 bits", packBits(`${bits("&")}11111111`)],
    ["with a padding of 11 bits", packBits(`${bits("a")}${"1".repeat(11)}`)],
    ["with a padding of 8 bits alone", Buffer.of(0xff)],
    ["with a padding of 16 bits", Buffer.of(0xff, 0xff)],
    ["with a padding of 24 bits", packBits(`${bits("&")}${"1".repeat(24)}`)],
    ["with the end of a string in it", packBits(`${bits("a")}${endOfString}${bits("a")}`)],
    ["with the end of a string behind it", packBits(`${bits("a")}${endOfString}`)],
    ["that breaks off within a code", packBits(bits("\u0001").slice(0, 16))],
  ])("%s", (_why, bytes) => {
    expect(() => decode(bytes)).toThrow(ConnectionError);
    expect(() => decode(bytes)).toThrow(expect.objectContaining({ code: ErrorCode.compressionError }));
  });
});

it("any bytes are read as their bits are, one after the other", () => {
  function check(bytes: Buffer): void {
    const expected = readBits(bytes);
    if (expected === undefined) {
      expect(() => decode(bytes), bytes.toString("hex")).toThrow(ConnectionError);
    } else {
      expect(decode(bytes), bytes.toString("hex")).toBe(expected);
    }
  }
  for (let two = 0; two < 2 ** 16; two += 3) {
    check(Buffer.of(two >> 8, two & 0xff));
  }
  // Long codes begin with ones, and few random bytes do.
  const byte = fc.oneof(fc.constant(0xff), fc.integer({ min: 0xf0, max: 0xff }), fc.integer({ min: 0, max: 0xff }));
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 12 }), (bytes) => check(Buffer.from(bytes))),
    { numRuns: 5_000 },
  );
});
