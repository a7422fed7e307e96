import fc from "fast-check";

/** The code points that UTF-16 has for halves of others: they are no characters. */
const surrogates = { first: 0xd800, count: 0x800 };

/** Any character of Unicode. That of fast-check, `unit: "binary"`, takes a second to be made. */
export const anyCharacter: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff - surrogates.count })
  .map((index) => String.fromCodePoint(index < surrogates.first ? index : index + surrogates.count));
