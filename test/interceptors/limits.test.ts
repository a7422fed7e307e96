import { createContextValues } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { apiKeyInvalid, storeUnavailable } from "../../src/domain/errors.ts";
import type { RateLimitDecision, RateLimiter } from "../../src/domain/limits.ts";
import { HeaderList } from "../../src/http/header-list.ts";
import { callerKey } from "../../src/interceptors/auth.ts";
import { limitsInterceptor } from "../../src/interceptors/limits.ts";
import type { Call } from "../../src/rpc/call.ts";

const shown = {
  name: "minute",
  lengthSeconds: 60,
  limit: 300,
  remaining: 17,
  resetAtMs: 1_799_999_999_001,
  resetAtSeconds: 1_800_000_000,
  resetAfterSeconds: 60,
} as const;

/** The limit of an address, used up. */
const refused: RateLimitDecision = {
  outcome: "refused",
  shown: { ...shown, remaining: 0 },
  windows: [],
};

/** The same limit, before a request that charges nothing. */
const described: RateLimitDecision = {
  outcome: "admitted",
  shown,
  windows: [],
};

/** What a call without a valid key ends with, and the headers of its answer. */
async function refusalOf(refusal: unknown): Promise<{ code: string; header: HeaderList }> {
  const contextValues = createContextValues().set(callerKey, { key: undefined, refusal });
  const header = new HeaderList();
  const call = { contextValues, answerHeader: header, exchange: { clientAddress: "192.0.2.1" } } as unknown as Call;
  const anonymous = { decideNow: () => refused, describe: async () => described };
  const limiter = { keys: {}, anonymous } as unknown as RateLimiter;
  const handle = limitsInterceptor(limiter).wrap(
    () => Promise.reject(new Error()),
    InventoryService.method.getInventory,
  );
  const reason = await handle(call).then(
    () => undefined,
    (error) => error,
  );
  return { code: reason.code, header };
}

it("a caller without a valid key is refused by the limit of its address", async () => {
  const { code, header } = await refusalOf(apiKeyInvalid());
  expect(code).toBe("RATE_LIMIT_EXCEEDED");
  expect(header.get("retry-after")).toBe("60");
});

it("a caller whose key cannot be looked up is told so, and its address is not charged", async () => {
  const { code, header } = await refusalOf(storeUnavailable(new Error("away")));
  expect(code).toBe("UNAVAILABLE");
  expect(header.has("retry-after")).toBe(false);
  expect(header.get("x-ratelimit-limit")).toBe("300");
  expect(header.get("x-ratelimit-remaining")).toBe("17");
  expect(header.get("x-ratelimit-reset")).toBe("1800000000");
});
