import { describe, expect, it, vi } from "vitest";
import { PetService } from "../../gen/petstore/v1/pet_service_pb.ts";
import { CallRecord } from "../../src/http/exchange.ts";
import { CallMetrics, CallRate } from "../../src/observability/call-metrics.ts";
import { outcomeOf } from "../../src/observability/call-observer.ts";
import { Buckets, Metrics } from "../../src/observability/instruments.ts";

function end(metrics: CallMetrics, noted: Partial<CallRecord>): void {
  const record = Object.assign(new CallRecord(), { isWhole: true, ...noted });
  metrics.ended({ record, requestId: "1", clientAddress: "127.0.0.1", path: "/" }, outcomeOf(record));
}

describe("calls", () => {
  it.each([
    [{ method: "petstore.v1.PetService/GetPet" }, 'method="petstore.v1.PetService/GetPet",code="OK"'],
    [{ method: 'x"}\n' }, 'method="unknown",code="OK"'],
    [{ method: "petstore.v1.PetService/getpet" }, 'method="unknown",code="OK"'],
    [{ method: "__proto__", code: "INTERNAL" }, 'method="unknown",code="INTERNAL"'],
    [{ method: undefined }, 'method="unknown",code="OK"'],
    [{ method: "reference" }, 'method="reference",code="OK"'],
    [{ method: undefined, isWhole: false }, 'method="unknown",code="INCOMPLETE"'],
  ])("%j are %s", async (noted, labels) => {
    const all = new Metrics();
    end(new CallMetrics(all, [PetService]), noted);
    const lines = (await all.read()).body.split("\n").filter((line) => line.startsWith("petstore_calls_total{"));
    expect(lines).toEqual([`petstore_calls_total{protocol="http",${labels}} 1`]);
  });

  it.each([
    ["OK", 0],
    ["PET_NOT_FOUND", 0],
    ["INTERNAL", 1],
    ["UNAVAILABLE", 1],
  ])("of %s have failed %i times", async (code, failed) => {
    const all = new Metrics();
    const metrics = new CallMetrics(all, [PetService]);
    end(metrics, { method: "petstore.v1.PetService/GetPet", code });
    expect([metrics.total, metrics.failed]).toEqual([1, failed]);
    const failures = 'petstore_calls_failed_total{method="petstore.v1.PetService/GetPet"}';
    expect((await all.read()).body).toContain(`${failures} ${failed}\n`);
  });

  it("that are streams are counted, but their durations are not: they last for as long as clients like", async () => {
    const all = new Metrics();
    const metrics = new CallMetrics(all, [PetService]);
    const method = "petstore.v1.PetService/GetPet";
    end(metrics, { method, durationMs: 1 });
    end(metrics, { method, durationMs: 3_600_000, isStream: true });
    const { body: text } = await all.read();
    const labels = `protocol="http",method="${method}"`;
    expect(text).toContain(`petstore_calls_total{${labels},code="OK"} 2\n`);
    expect(text).toContain(`petstore_call_duration_seconds_count{${labels}} 1\n`);
    expect(text).toContain(`petstore_call_duration_seconds_sum{${labels}} 0.001\n`);
  });

  it("are shown as not failed, for each method, before there are any", async () => {
    const all = new Metrics();
    new CallMetrics(all, [PetService]);
    const lines = (await all.read()).body.split("\n").filter((line) => line.startsWith("petstore_calls_failed"));
    const methods = ["petstore.v1.PetService/GetPet", "reference", "unknown"];
    expect(lines).toEqual(methods.map((method) => `petstore_calls_failed_total{method="${method}"} 0`));
  });
});

describe("a histogram", () => {
  it("has each value in the first bucket that is no smaller", () => {
    const buckets = new Buckets([1, 2]);
    for (const value of [0, 1, 1.5, 2, 2.1, 100]) {
      buckets.observe(value);
    }
    expect([[...buckets.counts], buckets.sum]).toEqual([[2, 2, 2], 106.6]);
  });

  it("is written with all that is below each bound", async () => {
    const all = new Metrics();
    const metrics = new CallMetrics(all, [PetService]);
    for (const durationMs of [1, 30, 20_000]) {
      end(metrics, { durationMs });
    }
    const { body: text } = await all.read();
    const bucket = (le: string) => new RegExp(`_bucket\\{[^}]*le="${le}"\\} (\\d+)`).exec(text)?.[1];
    expect(["0.001", "0.025", "0.05", "10", "\\+Inf"].map(bucket)).toEqual(["1", "1", "2", "2", "3"]);
  });
});

it("the rate of calls is that of the last minute", () => {
  vi.useFakeTimers();
  let calls = 0;
  const rate = new CallRate(() => calls);
  vi.advanceTimersByTime(30_000);
  calls = 300;
  expect(rate.perSecond).toBe(10);
  vi.advanceTimersByTime(30_000);
  expect(rate.perSecond).toBe(5);
  vi.advanceTimersByTime(60_000);
  expect(rate.perSecond).toBe(0);
  calls = 600;
  for (const setMs of [-3_600_000, 3_600_000]) {
    vi.setSystemTime(Date.now() + setMs);
    expect(rate.perSecond, "the system's clock is set").toBe(5);
  }
  rate.close();
  vi.useRealTimers();
});
