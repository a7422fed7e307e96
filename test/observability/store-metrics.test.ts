import { expect, it } from "vitest";
import { storeUnavailable } from "../../src/domain/errors.ts";
import { Metrics } from "../../src/observability/instruments.ts";
import { addStoreMetrics, type WatchedStore } from "../../src/observability/store-metrics.ts";

const counts = { free: 0, pro: 0, business: 1, enterprise: 0 };

async function metricsOf(store: Partial<WatchedStore>): Promise<string> {
  const metrics = new Metrics();
  addStoreMetrics(metrics, { countKeys: async () => counts, gauges: [], maintenance: undefined, ...store }, () => 0);
  return (await metrics.read()).body;
}

/** The metrics of a store whose keys cannot be counted for this reason. */
function metricsWithout(reason: unknown): Promise<string> {
  return metricsOf({
    countKeys: () => Promise.reject(reason),
    gauges: [{ name: "petstore_store_rows", help: "Rows.", read: async () => 1 }],
  });
}

it("what the store cannot tell has no series, and all else has", async () => {
  const text = await metricsWithout(storeUnavailable(new Error("database disk image is malformed")));
  expect(text).not.toMatch(/^petstore_keys\{/m);
  expect(text).toMatch(/^petstore_store_rows 1$/m);
});

it("a bug is not passed over", async () => {
  await expect(metricsWithout(new TypeError("a bug"))).rejects.toThrow("a bug");
});

it("the keys of each plan have a series", async () => {
  expect(await metricsOf({})).toMatch(/^petstore_keys\{plan="business"\} 1$/m);
});

it("a store without maintenance tells of no backups", async () => {
  expect(await metricsOf({})).not.toMatch(/backup/);
});
