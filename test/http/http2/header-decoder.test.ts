import { describe, expect, it } from "vitest";
import { ConnectionError, ErrorCode } from "../../../src/http/http2/frames.ts";
import { HeaderDecoder } from "../../../src/http/http2/header-decoder.ts";
import { added, indexed, integer, literal, tableSize, text } from "./hpack-bytes.ts";

const maxListBytes = 64 * 1024;

/** Decodes the blocks one after the other, and returns the fields of each as texts. */
function decodeAll(decoder: HeaderDecoder, blocks: readonly (string | Buffer)[]): string[][] {
  return blocks.map((block) => {
    const bytes = typeof block === "string" ? Buffer.from(block.replaceAll(" ", ""), "hex") : block;
    return decoder.decode(bytes).map(({ name, value }) => `${name}: ${value}`);
  });
}

/** What the dynamic table has, as later indices find it. */
function tableOf(decoder: HeaderDecoder): string[] {
  const found: string[] = [];
  try {
    for (let index = 62; ; index++) {
      found.push(...(decodeAll(decoder, [indexed(index)])[0] as string[]));
    }
  } catch {
    return found;
  }
}

function expectRefused(decoder: HeaderDecoder, block: Buffer, code: ErrorCode = ErrorCode.compressionError): void {
  expect(() => decoder.decode(block)).toThrow(ConnectionError);
  expect(() => decoder.decode(block)).toThrow(expect.objectContaining({ code }));
}

describe("the examples of RFC 7541, Appendix C", () => {
  function check(blocks: readonly string[], lists: readonly (readonly string[])[], table: readonly string[]): void {
    const decoder = new HeaderDecoder(maxListBytes);
    expect(decodeAll(decoder, blocks)).toEqual(lists);
    expect(tableOf(decoder)).toEqual(table);
  }

  it.each<[section: string, block: string, field: string, isAdded: boolean]>([
    ["C.2.1", "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", "custom-key: custom-header", true],
    ["C.2.2", "040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path", false],
    ["C.2.3", "1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret", false],
    ["C.2.4", "82", ":method: GET", false],
  ])("%s: one field", (_section, block, field, isAdded) => {
    check([block], [[field]], isAdded ? [field] : []);
  });

  const authority = ":authority: www.example.com";
  const requests = [
    [":method: GET", ":scheme: http", ":path: /", authority],
    [":method: GET", ":scheme: http", ":path: /", authority, "cache-control: no-cache"],
    [":method: GET", ":scheme: https", ":path: /index.html", authority, "custom-key: custom-value"],
  ];
  const requestTable = ["custom-key: custom-value", "cache-control: no-cache", authority];

  it.each<[title: string, blocks: string[]]>([
    [
      "C.3: requests",
      [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
      ],
    ],
    [
      "C.4: requests with Huffman's code",
      [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
      ],
    ],
  ])("%s", (_title, blocks) => check(blocks, requests, requestTable));

  const responses = [
    ["302", "private", "Mon, 21 Oct 2013 20:13:21 GMT"],
    ["307", "private", "Mon, 21 Oct 2013 20:13:21 GMT"],
    ["200", "private", "Mon, 21 Oct 2013 20:13:22 GMT"],
  ].map(([status, cache, when]) => [
    `:status: ${status}`,
    `cache-control: ${cache}`,
    `date: ${when}`,
    "location: https://www.example.com",
  ]);
  const encoding = "content-encoding: gzip";
  const cookie = "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
  const lists = [...responses.slice(0, 2), [...(responses[2] ?? []), encoding, cookie]];
  const responseTable = [cookie, encoding, "date: Mon, 21 Oct 2013 20:13:22 GMT"];
  /** A table of 256 bytes, as the examples have it. */
  const small = "3fe101";

  it.each<[title: string, blocks: string[]]>([
    [
      "C.5: responses",
      [
        `${small} 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32
         3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`.replaceAll("\n", ""),
        "4803 3330 37c1 c0bf",
        `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f
         6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b
         2076 6572 7369 6f6e 3d31`.replaceAll("\n", ""),
      ],
    ],
    [
      "C.6: responses with Huffman's code",
      [
        `${small} 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad
         1718 63c7 8f0b 97c8 e9ae 82ae 43d3`.replaceAll("\n", ""),
        "4883 640e ffc1 c0bf",
        `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335
         dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`.replaceAll("\n", ""),
      ],
    ],
  ])("%s", (_title, blocks) => check(blocks, lists, responseTable));
});

describe("a header block is refused", () => {
  it.each<[why: string, block: Buffer]>([
    ["with the index 0", Buffer.of(0x80)],
    ["with an index beyond the tables", indexed(62)],
    ["with a name beyond the tables", added(62, "x")],
    ["with an index far beyond the tables", indexed(2 ** 27)],
    ["with an integer of five further bytes", Buffer.from("ff8080808001", "hex")],
    [
      "with an integer of five further bytes that says little",
      Buffer.concat([Buffer.of(0x40), text("name"), Buffer.from("7f8080808000", "hex"), Buffer.alloc(127, "v")]),
    ],
    ["with an integer that breaks off", Buffer.from("ff80", "hex")],
    ["with a name that breaks off", Buffer.concat([Buffer.of(0x40, 5), Buffer.from("name")])],
    ["with a value that breaks off", literal("name", "value").subarray(0, -1)],
    ["without a value", Buffer.concat([Buffer.of(0x40), text("name")])],
    ["without a name", Buffer.of(0x40)],
    ["with a text of 2^28 bytes", Buffer.concat([Buffer.of(0x40), integer(0, 7, 2 ** 28)])],
    ["with a wrong Huffman code", Buffer.from("40 81 00 01 78".replaceAll(" ", ""), "hex")],
    ["with a table larger than is allowed", tableSize(4_097)],
    ["with a table's size behind a field", Buffer.concat([indexed(2), tableSize(0)])],
  ])("%s", (_why, block) => expectRefused(new HeaderDecoder(maxListBytes), block));
});

describe("a header list", () => {
  const field = literal("name", "v".repeat(1_000));
  const size = 4 + 1_000 + 32;

  it("ends with the field that exceeds the limit, with 32 bytes more for each field", () => {
    const block = Buffer.concat([field, field, field, field]);
    expect(new HeaderDecoder(3 * size).decode(block)).toHaveLength(4);
    expect(new HeaderDecoder(3 * size - 1).decode(block)).toHaveLength(3);
  });

  it("ends there, though few bytes stand for it", () => {
    const decoder = new HeaderDecoder(maxListBytes);
    decoder.decode(added("bomb", "v".repeat(4_000)));
    expect(decoder.decode(Buffer.alloc(16_000, indexed(62)))).toHaveLength(17);
  });

  it("adds the fields behind its end to the table", () => {
    const decoder = new HeaderDecoder(size);
    expect(decoder.decode(Buffer.concat([field, field, added("late", "v")]))).toHaveLength(2);
    expect(tableOf(decoder)).toEqual(["late: v"]);
  });

  it("is read to its end where that breaks off", () => {
    expectRefused(new HeaderDecoder(size), Buffer.concat([field, field, field.subarray(0, -1)]));
  });
});

describe("the table of headers", () => {
  const names = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`.padEnd(10, "-"));
  /** 42 bytes each, of which 97 fit 4,096. */
  const fields = (count: number) => Buffer.concat(names(count).map((name) => added(name, "")));

  it("keeps the last 4,096 bytes of fields", () => {
    const decoder = new HeaderDecoder(maxListBytes);
    decoder.decode(fields(250));
    const kept = names(250).slice(-97).reverse();
    expect(tableOf(decoder)).toEqual(kept.map((name) => `${name}: `));
  });

  it.each([127, 128, 129, 1_000])("keeps the last 128 of %i fields without name and value", (count) => {
    const decoder = new HeaderDecoder(maxListBytes);
    decoder.decode(Buffer.concat(Array.from({ length: count }, () => added("", ""))));
    expect(tableOf(decoder)).toHaveLength(Math.min(count, 128));
    decoder.decode(added("last", ""));
    expect(tableOf(decoder)).toEqual(["last: ", ...Array.from({ length: 126 }, () => ": ")]);
    decoder.decode(tableSize(0));
    expect(tableOf(decoder)).toEqual([]);
  });

  it("is empty after a field that is larger than it", () => {
    const decoder = new HeaderDecoder(maxListBytes);
    const large = added("large", "v".repeat(4_096 - 5 - 32 + 1));
    expect(decoder.decode(Buffer.concat([fields(3), large]))).toHaveLength(4);
    expect(tableOf(decoder)).toEqual([]);
  });

  it("holds one field that fills it", () => {
    const decoder = new HeaderDecoder(maxListBytes);
    decoder.decode(Buffer.concat([fields(3), added("large", "v".repeat(4_096 - 5 - 32))]));
    expect(tableOf(decoder)).toHaveLength(1);
  });

  it("gives its name to a field that evicts the one which has it", () => {
    const decoder = new HeaderDecoder(maxListBytes);
    decoder.decode(added("kept", "v".repeat(3_000)));
    const value = "w".repeat(3_000);
    expect(decodeAll(decoder, [added(62, value)])).toEqual([[`kept: ${value}`]]);
    expect(tableOf(decoder)).toEqual([`kept: ${value}`]);
  });

  it("loses the oldest fields when it becomes smaller, and has room again when it grows", () => {
    const decoder = new HeaderDecoder(maxListBytes);
    decoder.decode(fields(5));
    decoder.decode(tableSize(2 * 42 + 41));
    expect(tableOf(decoder)).toEqual(["n4--------: ", "n3--------: "]);
    decoder.decode(Buffer.concat([tableSize(0), tableSize(4_096)]));
    expect(tableOf(decoder)).toEqual([]);
    decoder.decode(fields(5));
    expect(tableOf(decoder)).toHaveLength(5);
  });

  it("holds nothing while its size is 0", () => {
    const decoder = new HeaderDecoder(maxListBytes);
    expect(decoder.decode(Buffer.concat([tableSize(0), fields(2)]))).toHaveLength(2);
    expect(tableOf(decoder)).toEqual([]);
  });
});
