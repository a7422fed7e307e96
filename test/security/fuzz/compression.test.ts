import { brotliCompressSync, gzipSync } from "node:zlib";
import { describe, expect } from "vitest";
import type { Exchange } from "../../../src/http/exchange.ts";
import { ProtocolError } from "../../../src/http/protocol-error.ts";
import { CallCompression } from "../../../src/rpc/compression.ts";
import { fuzz } from "./cases.ts";
import { mutatedBytes } from "./mutate.ts";
import { byteTokens } from "./tokens.ts";

const maxBytes = 100_000;

const plain = [Buffer.from('{"petId":"7"}'), Buffer.alloc(maxBytes, "a"), Buffer.alloc(50 * maxBytes)];

describe("a compressed message", () => {
  check(
    "gzip",
    plain.map((bytes) => gzipSync(bytes)),
  );
  check(
    "br",
    plain.map((bytes) => brotliCompressSync(bytes)),
  );

  function check(name: string, compressed: readonly Buffer[]): void {
    const material = { tokens: byteTokens, corpus: compressed.map((bytes) => bytes.toString("latin1")) };
    const exchange = { header: () => undefined } as unknown as Exchange;
    const compression = new CallCompression(exchange, name, "accept-encoding");

    fuzz(
      `by ${name} is never more than is taken, or is refused`,
      { usual: 300, long: 8_000 },
      async (random, refused) => {
        try {
          const message = await compression.decompress(mutatedBytes(random, material), maxBytes);
          expect(message.length).toBeLessThanOrEqual(maxBytes);
        } catch (reason) {
          refused();
          expect(reason).toBeInstanceOf(ProtocolError);
          expect((reason as ProtocolError).kind).toMatch(/^(malformed|body_too_large)$/);
        }
      },
    );
  }
});
