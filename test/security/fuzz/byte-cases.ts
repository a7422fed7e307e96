import { describe, expect } from "vitest";
import { readMetrics } from "../../support/metrics.ts";
import type { Random } from "../../support/random.ts";
import type { TestServer } from "../../support/server.ts";
import { sendBytes } from "./bytes.ts";
import type { CaseCount } from "./cases.ts";
import { expectSamePets } from "./stock.ts";
import { fuzzWire } from "./wire-cases.ts";

/**
 * Tests that write what `bytesFor` makes of a key to connections of their own: so many cases with a key that may change
 * nothing, or none, and half as many with a key for everything.
 */
export function fuzzBytes(
  protocol: string,
  { usual, long }: Pick<CaseCount, "usual" | "long">,
  bytesFor: (random: Random, key: string) => Buffer,
): void {
  describe(`bytes that are nearly ${protocol}`, () => {
    fuzzWire("do no harm, and change nothing without the scope for it", {
      usual,
      long,
      tryCase(random, watched) {
        const key = random.pick([watched.readerKey, "psk_wrong", ""]);
        return sendBytes(random, bytesFor(random, key), watched);
      },
      conclude: (server) => expectAnswers(server, "PetService/GetPet"),
    });

    fuzzWire("do no harm with a key for everything", {
      usual: usual / 2,
      long: long / 2,
      tryCase: (random, watched) => sendBytes(random, bytesFor(random, watched.writerKey), watched),
      judge: expectSamePets,
      conclude: (server) => expectAnswers(server, "InventoryService/UpdateInventory"),
    });
  });
}

/** Expects that some of the bytes were requests for this method, of those to whom it answers. */
async function expectAnswers(server: TestServer, method: string): Promise<void> {
  const metrics = await readMetrics(server);
  expect(metrics.sum("petstore_calls_total", { method: `petstore.v1.${method}`, code: "OK" })).toBeGreaterThan(0);
}
