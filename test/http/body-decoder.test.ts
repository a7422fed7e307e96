import { expect, it } from "vitest";
import { BodyDecoder } from "../../src/http/http1/body-decoder.ts";
import { leastCpuMs } from "../security/fuzz/quick.ts";

/** Reads bodies without content that have these trailers. */
function read(trailers: string, bodies: number): void {
  const bytes = Buffer.from(`0\r\n${trailers}\r\n`);
  for (let i = 0; i < bodies; i++) {
    const decoder = new BodyDecoder(undefined);
    expect(decoder.read(bytes, 0, () => {})).toBe(bytes.length);
    expect(decoder.isEnded).toBe(true);
  }
}

it("many short trailers cost as much as a long one", async () => {
  const short = "a:\r\n".repeat(4_000);
  const long = `a:${" ".repeat(15_996)}\r\n`;
  read(short, 20);
  read(long, 20);
  expect(await leastCpuMs(() => read(short, 20))).toBeLessThan(4 * (await leastCpuMs(() => read(long, 20))));
});

it.each(["a: b\r\n", "a:\r\nb:c\r\n", "A-b:\t\u00e9\r\n"])("trailers end a body: %j", (trailers) => read(trailers, 1));

it.each(["a\r\n", " a: b\r\n", "a : b\r\n", "a: b\n", "a: \0\r\n", "a:b\r\n c\r\n", "Content-Length: 1\r\n"])(
  "what is no trailer breaks the framing: %j",
  (trailers) => {
    expect(() => read(trailers, 1)).toThrow("the body is malformed");
  },
);

it.each(["", ";a", ';a="b\t\x80"', "; a = b"])("an extension of a chunk is ignored: %j", (extension) => {
  const bytes = Buffer.from(`1${extension}\r\nx\r\n`, "latin1");
  expect(() => new BodyDecoder(undefined).read(bytes, 0, () => {})).not.toThrow();
});

it.each(["\0", "\x01", "\n", "\x1f", "\x7f"])(
  "a control character in an extension breaks the framing: %j",
  (character) => {
    const bytes = Buffer.from(`1;a${character}\r\nx\r\n`);
    expect(() => new BodyDecoder(undefined).read(bytes, 0, () => {})).toThrow("the body is malformed");
  },
);

it.each([
  ["sizes of 13 digits", `${"0".repeat(13)}\r\n\r\n`, true],
  ["sizes of 14 digits", `${"0".repeat(14)}\r\n\r\n`, false],
  ["16 KiB of chunk extensions", `0;${"x".repeat(16_383)}\r\n\r\n`, true],
  ["more than 16 KiB of chunk extensions", `0;${"x".repeat(16_384)}\r\n\r\n`, false],
  ["more than 16 KiB in two chunks", `1;${"x".repeat(9_000)}\r\na\r\n0;${"x".repeat(9_000)}\r\n\r\n`, false],
])("chunks may have so much framing and no more: %s", (_what, text, isTaken) => {
  const decoder = new BodyDecoder(undefined);
  const bytes = Buffer.from(text);
  const readAll = () => {
    for (let at = 0; at < bytes.length; ) {
      at = decoder.read(bytes, at, () => {});
    }
    return decoder.isEnded;
  };
  if (isTaken) {
    expect(readAll()).toBe(true);
  } else {
    expect(readAll).toThrow("the body is malformed");
  }
});
