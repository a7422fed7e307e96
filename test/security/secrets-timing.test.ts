import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { drawBase62, formatBase62, mintSecret } from "../../src/domain/key.ts";
import { createHttp1Client, type HttpClient } from "../support/http.ts";
import { amount } from "../support/long.ts";
import { report } from "../support/report.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { rankDistance } from "./rank-test.ts";

let server: TestServer;
let client: HttpClient;
let key: string;

beforeAll(async () => {
  server = await startServer("--trusted-proxy", "127.0.0.1/32");
  ({ key } = await server.store.mintKey());
  client = createHttp1Client(server);
});

afterAll(async () => {
  client?.close();
  await server?.stop();
});

/** A key that is none, with this beginning of one that is, and check characters that are right. */
function wrongKey(shared: number): string {
  const random = key.slice("psk_".length, "psk_".length + shared) + drawBase62(30 - shared, randomBytes);
  return `psk_${random}${formatBase62(crc32(random), 6)}`;
}

let made = 0;

/** How long it takes to refuse a key, in milliseconds. No two requests are from the same address. */
async function timeOf(secret: string): Promise<number> {
  made += 1;
  const address = `2001:db8:${(made >>> 16).toString(16)}:${(made & 0xffff).toString(16)}::1`;
  const headers = { authorization: `Bearer ${secret}`, "x-forwarded-for": address };
  const start = performance.now();
  const { status } = await client.send({ method: "GET", path: "/v1/limits", headers });
  const ms = performance.now() - start;
  expect(status).toBe(401);
  return ms;
}

it.each([24, 12, 4])(
  "refuses a key that begins with %i characters of a valid one no sooner or later",
  async (shared) => {
    const near: number[] = [];
    const far: number[] = [];
    for (let round = 0; round < 100; round++) {
      await timeOf(mintSecret(randomBytes));
    }
    // In turn, and each first every other time, so that whatever else the machine does is the same for both.
    for (let round = 0; round < amount(200, 10_000); round++) {
      const guesses = [() => timeOf(wrongKey(shared)), () => timeOf(mintSecret(randomBytes))] as const;
      if (round % 2 === 0) {
        near.push(await guesses[0]());
        far.push(await guesses[1]());
      } else {
        far.push(await guesses[1]());
        near.push(await guesses[0]());
      }
    }
    const distance = rankDistance(near, far);
    report(`keys that share ${shared} characters`, { guesses: near.length, distance });
    expect(Math.abs(distance)).toBeLessThan(4.5);
  },
  120_000,
);

it("a distance is seen where there is one", () => {
  const ramp = Array.from({ length: 1_000 }, (_, index) => index);
  expect(rankDistance(ramp, ramp)).toBeCloseTo(0, 0);
  const moved = ramp.map((value) => value + 200);
  expect(rankDistance(moved, ramp)).toBeGreaterThan(10);
  expect(rankDistance(ramp, moved)).toBeLessThan(-10);
});
