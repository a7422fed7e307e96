import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import { EventLoopDelay } from "../../src/observability/observability.ts";

/** Keeps the event loop from all else. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end) {}
}

it("the delay of an idle event loop is next to nothing", async () => {
  const delay = new EventLoopDelay();
  // Whatever else the machine does may hold a measurement up, but not most of them.
  await setTimeout(500);
  expect(delay.sinceLast.p50).toBeLessThan(0.01);
});

it("the delay of a blocked event loop is that of what blocks it, once", async () => {
  const delay = new EventLoopDelay();
  await setTimeout(100);
  block(500);
  await setTimeout(100);
  // A measurement was due within the first 20 ms.
  expect(delay.sinceLast.max).toBeGreaterThan(0.4);
  await setTimeout(100);
  expect(delay.sinceLast.max).toBeLessThan(0.4);
});

it("all who ask at a time get the same, and before anything is measured nothing", async () => {
  const delay = new EventLoopDelay();
  expect(delay.sinceLast).toEqual({ p50: 0, p90: 0, p99: 0, max: 0 });
  await setTimeout(200);
  expect(delay.sinceLast).toBe(delay.sinceLast);
});
