import { expect, it } from "vitest";
import { decodeUtf8 } from "../../src/records/utf8.ts";
import { chunksOf } from "../support/chunks.ts";

const text = "\ufeffa\né€\n🐕\ufeff\n";

it("decodes whatever the chunks cut in two, without the byte order mark", async () => {
  for (let length = 1; length < 20; length += 1) {
    expect((await Array.fromAsync(decodeUtf8(chunksOf(Buffer.from(text), length)))).join("")).toBe(text.slice(1));
  }
});

it.each(["id,name", "[{", "\ufeffid"])("refuses UTF-16 at its first line: %j", async (text16) => {
  const little = Buffer.from(text16, "utf16le");
  for (const bytes of [little, Buffer.from(little).swap16()]) {
    for (let length = 1; length < 9; length += 1) {
      await expect(Array.fromAsync(decodeUtf8(chunksOf(bytes, length)))).rejects.toMatchObject({ line: 1 });
    }
  }
});

it("names the line of what is not UTF-8, wherever the chunks are cut", async () => {
  const bytes = Buffer.concat([Buffer.from(text), Buffer.from([0x62, 0xff, 0x0a])]);
  for (let length = 1; length < 30; length += 1) {
    await expect(Array.fromAsync(decodeUtf8(chunksOf(bytes, length)))).rejects.toMatchObject({ line: 4 });
  }
});
