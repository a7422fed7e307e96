import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { storeUnavailable } from "../../src/domain/errors.ts";
import { addKeyMetrics } from "../../src/observability/key-metrics.ts";
import { addKeepingMetrics } from "../../src/observability/store-metrics.ts";

const counts = { free: 0, pro: 0, business: 1, enterprise: 0 };
const space = { dataBytes: 4_096, logBytes: 0, freeBytes: 1, capacityBytes: 2 };

/** The metrics of a store whose keys cannot be counted for this reason. */
async function metricsWithout(reason: unknown): Promise<string> {
  const registry = new Registry();
  const countKeys = () => Promise.reject(reason);
  addKeyMetrics(registry, countKeys);
  addKeepingMetrics(registry, { countKeys, lastBackup: async () => undefined, space: async () => space });
  return registry.metrics();
}

it("what the store cannot tell has no series, and all else has", async () => {
  const text = await metricsWithout(storeUnavailable(new Error("database disk image is malformed")));
  expect(text).not.toMatch(/^petstore_keys\{/m);
  expect(text).toMatch(/^petstore_store_filesystem_free_bytes 1$/m);
  expect(text).toMatch(/^petstore_last_backup_timestamp_seconds 0$/m);
});

it("a bug is not passed over", async () => {
  await expect(metricsWithout(new TypeError("a bug"))).rejects.toThrow("a bug");
});

it("the keys of each plan have a series", async () => {
  const registry = new Registry();
  addKeyMetrics(registry, async () => counts);
  expect(await registry.metrics()).toMatch(/^petstore_keys\{plan="business"\} 1$/m);
});
