import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { codeAnswer } from "../../src/gateway/negotiation.ts";
import type { Answer, Exchange } from "../../src/http/exchange.ts";
import { HeaderList } from "../../src/http/header-list.ts";

const decoders = { br: brotliDecompressSync, gzip: gunzipSync, identity: (bytes: Uint8Array) => Buffer.from(bytes) };
const text = '{"petId":7},'.repeat(100_000);

function code(body: NonNullable<Answer["body"]>, acceptEncoding: string | undefined): Answer {
  const exchange = { header: () => acceptEncoding } as unknown as Exchange;
  return codeAnswer(exchange, { status: 200, header: HeaderList.from({ vary: "Origin" }), body });
}

async function read({ body }: Answer): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(body as AsyncIterable<Uint8Array>));
}

async function* pieces(count: number, onPull = () => {}): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) {
    onPull();
    yield Buffer.from(text);
  }
}

describe.each(["br", "gzip"] as const)("%s", (coding) => {
  it("gives back the same bytes once it is taken off", async () => {
    for (const [body, expected] of [
      [Buffer.from(text), text],
      [pieces(3), text.repeat(3)],
      [pieces(0), ""],
    ] as const) {
      const answer = code(body, coding);
      const bytes = await read(answer);
      expect(decoders[coding](bytes).toString()).toBe(expected);
      expect(answer.header.get("content-encoding")).toBe(coding);
      expect(answer.header.get("vary")).toBe("Origin, Accept-Encoding");
    }
  });

  it("pulls nothing that is not asked for", async () => {
    let pulls = 0;
    const { body } = code(
      pieces(1_000, () => {
        pulls += 1;
      }),
      coding,
    );
    expect(pulls).toBe(0);
    const iterator = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    await iterator.next();
    expect(pulls).toBeLessThan(100);
    await iterator.return?.();
  });

  it("ends its source when it is given up", async () => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    async function* endless() {
      try {
        for (;;) {
          yield Buffer.from(text);
        }
      } finally {
        resolve();
      }
    }
    for await (const _ of code(endless(), coding).body as AsyncIterable<Uint8Array>) {
      break;
    }
    await ended;
  });

  it("fails as its source does", async () => {
    async function* failing() {
      yield Buffer.from(text);
      throw new Error("the source failed");
    }
    await expect(read(code(failing(), coding))).rejects.toThrow("the source failed");
  });
});

it.each<[length: number, isCoded: boolean]>([
  [0, false],
  [1_023, false],
  [1_024, true],
])("codes a body of %i bytes: %s", async (length, isCoded) => {
  const { header } = code(Buffer.alloc(length), "gzip");
  expect(header.get("content-encoding")).toBe(isCoded ? "gzip" : null);
  expect(header.get("vary")).toBe(isCoded ? "Origin, Accept-Encoding" : "Origin");
});

it("leaves an answer as it is, but for Vary, where no coding is asked for", async () => {
  const body = Buffer.from(text);
  const answer = code(body, undefined);
  expect(answer.body).toBe(body);
  expect(answer.header.get("vary")).toBe("Origin, Accept-Encoding");
});
