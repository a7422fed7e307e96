import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import { Follower } from "../support/follower.ts";
import { inspectable } from "../support/inspector.ts";
import { keptMegabytes } from "../support/kept-memory.ts";
import { amount, isLong } from "../support/long.ts";
import { memoryBytes, openFiles } from "../support/process-usage.ts";
import { startServerWith, type TestServer } from "../support/server.ts";
import { watchProtocols } from "../support/watch.ts";
import { type Keys, MixedLoad } from "./mixed-load.ts";
import { quantile, Series } from "./series.ts";

const durationMs = amount(4_000, 30 * 60_000);
/** Until then code is compiled, and memory grows to what it will be. */
const warmUpMs = amount(1_000, 5 * 60_000);
const sampleMs = amount(500, 5_000);
/** How many samples there are for one of what is kept: to collect the garbage holds the server up. */
const samplesPerCollection = 12;

/** How often one of those who follow the changes leaves and comes back. */
const reconnectMs = 100;
let turns = 0;

let server: TestServer;
let keys: Keys;

beforeAll(async () => {
  server = await startServerWith(inspectable);
  const plenty = await server.store.mintQuota(1_000_000_000, 1_000_000_000);
  keys = { good: plenty.key, unknown: "psk_unknown", exhausted: await mintBanned() };
});

afterAll(() => server?.stop());

async function mintBanned(): Promise<string> {
  const { key } = await server.store.mintQuota(1, 1);
  const ask = () => fetch(`${server.origin}/v1/pets/7`, { headers: { authorization: `Bearer ${key}` } });
  await until(async () => ((await (await ask()).json()) as { code?: string }).code === "API_KEY_BANNED", 10_000);
  return key;
}

it(`serves ${durationMs / 1_000} s of mixed load with memory, files and latency flat`, {
  timeout: durationMs + 60_000,
}, async ({ annotate }) => {
  const filesBefore = openFiles(server.pid);
  const load = new MixedLoad(server, keys);
  const followers = watchProtocols.map((protocol) => new Follower(protocol, () => server, keys.good));
  const coming = setInterval(() => followers[turns++ % followers.length]?.reconnect(), reconnectMs);
  const resident = new Series();
  const kept = new Series();
  const files = new Series();
  const p50 = new Series();
  const p99 = new Series();
  const start = performance.now();
  while (performance.now() - start < durationMs) {
    await setTimeout(sampleMs);
    const now = performance.now() - start;
    const latencies = load.takeLatencies();
    resident.add(now, memoryBytes(server.pid) / 1e6);
    if (files.values.length % samplesPerCollection === 0) {
      kept.add(now, await keptMegabytes(server));
    }
    files.add(now, openFiles(server.pid));
    p50.add(now, quantile(latencies, 0.5));
    p99.add(now, quantile(latencies, 0.99));
  }
  await load.stop();
  clearInterval(coming);
  await Promise.all(followers.map((follower) => follower.stop()));

  const series = { resident, kept, files, p50, p99 };
  for (const [name, all] of Object.entries(series)) {
    const { median, slopePerHour } = all.since(warmUpMs);
    await annotate(`${name}: ${median.toFixed(2)}, ${slopePerHour.toFixed(2)} more an hour`);
  }
  await annotate(`${load.calls} calls, ${Math.round((load.calls / durationMs) * 1_000)} a second`);
  expect([...new Set(load.surprises)]).toEqual([]);
  expect(followers.flatMap(({ faults }) => faults)).toEqual([]);
  expect(Math.min(...followers.map(({ connections }) => connections))).toBeGreaterThan(1);
  expect(load.calls).toBeGreaterThan(amount(100, durationMs / 10));
  if (isLong) {
    // Over seconds there is nothing to see of these. Connections of followers come and go.
    expect(files.since(warmUpMs).slopePerHour, "open files an hour").toBeLessThan(10);
    expect(kept.since(warmUpMs).slopePerHour, "memory that is kept, MB an hour").toBeLessThan(5);
    expect(risePerHour(p50.since(warmUpMs)), "median latency").toBeLessThan(0.25);
    expect(risePerHour(p99.since(warmUpMs)), "99th percentile of latency").toBeLessThan(0.25);
  }
  server.closeClients();
  await until(async () => openFiles(server.pid) <= filesBefore, 10_000);
});

/** As a share of the median. */
function risePerHour({ slopePerHour, median }: Series): number {
  return slopePerHour / median;
}
