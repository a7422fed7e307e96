import { pino } from "pino";
import { expect, it, onTestFinished, vi } from "vitest";
import { Observability } from "../../src/observability/observability.ts";
import type { WatchedStore } from "../../src/observability/store-metrics.ts";

/** Less than the 5 s after which `petstore status` gives up, in milliseconds. */
const leftMs = 4_000;

const counts = { free: 0, pro: 0, business: 1, enterprise: 0 };

/** What observes a server over this store. */
function observe(store: Partial<WatchedStore>): Observability {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const observability = new Observability({
    version: "0.0.0",
    db: "postgres://db.example/petstore",
    services: [],
    logger: pino({ level: "silent" }),
    tracing: undefined,
    clock: () => 0,
  });
  onTestFinished(() => observability.close());
  observability.watchStore({ countKeys: async () => counts, gauges: [], maintenance: undefined, ...store });
  return observability;
}

/** The answer; undefined if it takes too long. */
async function inTime<T>(answer: Promise<T>): Promise<T | undefined> {
  const timeout = new Promise<undefined>((resolve) => setTimeout(resolve, leftMs, undefined));
  await vi.advanceTimersByTimeAsync(leftMs);
  return Promise.race([answer, timeout]);
}

function statusOver(store: Partial<WatchedStore>) {
  const addresses = { url: "http://127.0.0.1:8080", opsUrl: "http://127.0.0.1:9090" };
  return inTime(observe(store).status({ addresses, readiness: "ready" }));
}

const never = () => new Promise<never>(() => {});

it("the status says in time that the store is silent", async () => {
  const status = await statusOver({ countKeys: never, listServers: never });
  expect(status?.db).toEqual({ path: "postgres://db.example/petstore", error: "the store does not answer" });
  expect(status?.keys).toEqual({ byPlan: {} });
  expect(status).not.toHaveProperty("servers");
});

it("the status has what the store answers beside what it does not", async () => {
  const status = await statusOver({ listServers: never });
  expect(status?.keys).toEqual({ byPlan: counts });
});

it("the status has no error while the store answers", async () => {
  const status = await statusOver({ listServers: async () => [] });
  expect(status).toMatchObject({ db: { path: "postgres://db.example/petstore" }, servers: [] });
  expect(status?.db).not.toHaveProperty("error");
});

it("a scrape has all that the store need not tell, in time", async () => {
  const gauges = [{ name: "petstore_held", help: "Stock that is held.", read: never }];
  const observability = observe({ countKeys: never, gauges });
  await observability.prepare();
  const scrape = await inTime(observability.readMetrics());
  expect(scrape?.body).toContain("petstore_limit_decisions_total{");
  expect(scrape?.body).not.toMatch(/^petstore_(keys|held)[{ ]/m);
});
