import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLoop } from "../../bench/load/node-loads.ts";
import { countDue, dueMs } from "../../bench/load/schedule.ts";

describe("a schedule", () => {
  it("makes a request due at the tick at which it is counted", () => {
    const rates = fc.integer({ min: 1, max: 100_000 });
    fc.assert(
      fc.property(rates, fc.integer({ min: 0, max: 1_000_000 }), (ratePerSecond, number) => {
        const schedule = { ratePerSecond, ticksPerSecond: 2000 };
        const at = dueMs(schedule, number);
        expect(countDue(schedule, at)).toBeGreaterThan(number);
        expect(countDue(schedule, at - 0.25)).toBeLessThanOrEqual(number);
      }),
    );
  });

  it("has as many requests as its rate says", () => {
    expect(countDue({ ratePerSecond: 12_345, ticksPerSecond: 2000 }, 1000)).toBe(12_345);
  });
});

describe("the load at a fixed rate", () => {
  const stallMs = 400;
  const received: { method: string; url: string; body: string }[] = [];
  let isStalled = false;

  // It answers nothing for a while in the middle of the run, as a server does while its collector works.
  const server = createServer((request, response) => void receive(request, response));
  const held: ServerResponse[] = [];

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    received.push({ method: request.method ?? "", url: request.url ?? "", body: await text(request) });
    if (received.length === 600) {
      isStalled = true;
      setTimeout(() => {
        isStalled = false;
        answerHeld();
      }, stallMs);
    }
    held.push(response);
    answerHeld();
  }

  const folder = mkdtempSync(join(tmpdir(), "petstore-open-loop-"));
  const idsFile = join(folder, "ids");

  function answerHeld(): void {
    for (const response of isStalled ? [] : held.splice(0)) {
      response.writeHead(200, { "content-length": 2 }).end("{}");
    }
  }

  beforeAll(async () => {
    writeFileSync(idsFile, "11\n12\n13");
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });

  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  it("sends as many requests as its rate says, and counts a stall in all requests that were due in it", async () => {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const load = openLoop({ kind: "patch", ratePerSecond: 1000 });
    const result = await load({ origin, key: "secret", seconds: 1, idsFile, firstQuantity: 7 });

    expect(result).toMatchObject({ requests: 1000, failures: 0 });
    const updates = [11, 12, 13, 11].map((id, number) => {
      return { method: "PATCH", url: `/v1/inventory/${id}`, body: `{"quantity":${7 + number}}` };
    });
    expect(received).toEqual(expect.arrayContaining(updates));
    // Latencies count from half a second on: 100 requests before the stall, and 400 that were due in it, evenly. Only 128
    // connections wait for the server; all other requests wait for a connection.
    expect(result.p50Us).toBeGreaterThan(0.25 * stallMs * 1000);
    expect(result.p99Us).toBeGreaterThan(0.9 * stallMs * 1000);
    expect(result.tail?.p999Us).toBeGreaterThanOrEqual(result.p99Us);
  });
});
