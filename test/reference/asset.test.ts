import { syncBuiltinESMExports } from "node:module";
import zlib, { type brotliCompress } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import type { Exchange } from "../../src/http/exchange.ts";
import { createAsset } from "../../src/reference/asset.ts";

/** Has the next compression fail, and those after it succeed. */
function failCompressionOnce(): void {
  const original = zlib.brotliCompress;
  const failing = (...args: unknown[]) => {
    replaceBrotliCompress(original);
    (args.at(-1) as (error: Error) => void)(new Error("no memory"));
  };
  replaceBrotliCompress(failing as typeof brotliCompress);
  onTestFinished(() => replaceBrotliCompress(original));
}

function replaceBrotliCompress(brotliCompress: typeof zlib.brotliCompress): void {
  Object.assign(zlib, { brotliCompress });
  syncBuiltinESMExports();
}

it("is compressed for the next reader when that has failed for the first one", async () => {
  const page = createAsset({ type: "text/plain", body: "x".repeat(2_000) });
  const exchange = {
    method: "GET",
    header: (name: string) => (name === "accept-encoding" ? "br" : undefined),
  } as Exchange;
  failCompressionOnce();
  await expect(page(exchange)).rejects.toThrow("no memory");
  const { status, header } = await page(exchange);
  expect([status, header.get("content-encoding")]).toEqual([200, "br"]);
});
