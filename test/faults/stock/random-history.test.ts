import { expect, it, onTestFinished } from "vitest";
import { amount } from "../../support/long.ts";
import { report } from "../../support/report.ts";
import { startServer } from "../../support/server.ts";
import { StockLoad } from "./load.ts";

const clients = 16;
const callsEach = amount(200, 2_000);

it(`${clients} clients over REST and gRPC see one order of all that happens to the stock`, {
  timeout: amount(90_000, 900_000),
}, async () => {
  const server = await startServer();
  onTestFinished(() => server.stop());
  const { key } = await server.store.mintQuota(1_000_000_000, 1_000_000_000);
  const load = new StockLoad(() => server, key);
  await load.begin();
  await load.run(clients, callsEach);
  expect(await load.findContradiction()).toBeUndefined();
  // A load that sells nothing, or is never refused, would prove nothing.
  expect(new Set(load.calls.map(({ code }) => code))).toEqual(
    new Set([
      undefined,
      "HOLD_ENDED",
      "HOLD_NOT_FOUND",
      "IDEMPOTENCY_KEY_REUSED",
      "INSUFFICIENT_STOCK",
      "PET_NOT_FOUND",
      "PRECONDITION_FAILED",
      "QUANTITY_OUT_OF_RANGE",
    ]),
  );
  const replayed = load.calls.filter(({ isReplayed }) => isReplayed).length;
  expect(replayed).toBeGreaterThan(0);
  report("random history of stock", { calls: load.calls.length, replayed });
});
