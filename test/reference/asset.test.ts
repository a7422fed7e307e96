import { brotliCompress } from "node:zlib";
import { expect, it, vi } from "vitest";
import type { Exchange } from "../../src/http/exchange.ts";
import { createAsset } from "../../src/reference/asset.ts";

vi.mock(import("node:zlib"), async (importOriginal) => {
  const zlib = await importOriginal();
  return { ...zlib, brotliCompress: vi.fn(zlib.brotliCompress) as unknown as typeof brotliCompress };
});

it("is compressed for the next reader when that has failed for the first one", async () => {
  const page = createAsset({ type: "text/plain", body: "x".repeat(2_000) });
  const exchange = {
    method: "GET",
    header: (name: string) => (name === "accept-encoding" ? "br" : undefined),
  } as Exchange;
  vi.mocked(brotliCompress).mockImplementationOnce(((...args: unknown[]) => {
    (args.at(-1) as (error: Error) => void)(new Error("no memory"));
  }) as typeof brotliCompress);
  await expect(page(exchange)).rejects.toThrow("no memory");
  const { status, header } = await page(exchange);
  expect([status, header.get("content-encoding")]).toEqual([200, "br"]);
});
