import type { LookupAddress } from "node:dns";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createFairLookup } from "../../src/webhooks/name-lookup.ts";

/** How long the system looks for a dead name, and for any other, in milliseconds. */
const [deadMs, wellMs] = [20_000, 10];

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The system's look-ups, two at a time; and how often each name was looked up. */
function createSystem() {
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  let running = 0;
  function begin(): void {
    while (running < 2 && waiting.length > 0) {
      running += 1;
      waiting.shift()?.();
    }
  }
  const lookUp = createFairLookup((name, _options, callback) => {
    waiting.push(() => {
      asked.push(name);
      const isDead = name.startsWith("dead");
      setTimeout(
        () => {
          running -= 1;
          begin();
          if (isDead) {
            callback(Object.assign(new Error("unknown"), { code: "EAI_AGAIN" }), []);
          } else {
            callback(null, [{ address: "203.0.113.7", family: 4 }]);
          }
        },
        isDead ? deadMs : wellMs,
      );
    });
    begin();
  });
  const find = (name: string) =>
    new Promise<LookupAddress[]>((resolve, reject) => {
      lookUp(name, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)));
    });
  return { find, asked };
}

it("looks a name up once for all who ask meanwhile, and again for who asks later", async () => {
  const { find, asked } = createSystem();
  const found = Promise.all([find("well"), find("well"), find("other")]);
  await vi.advanceTimersByTimeAsync(wellMs);
  expect(await found).toEqual(Array(3).fill([{ address: "203.0.113.7", family: 4 }]));
  void find("well");
  expect(asked).toEqual(["well", "other", "well"]);
});

it("tells every one who asks that a name cannot be looked up", async () => {
  const { find } = createSystem();
  const failures = Promise.allSettled([find("dead"), find("dead")]);
  await vi.advanceTimersByTimeAsync(deadMs);
  expect((await failures).map((outcome) => (outcome as PromiseRejectedResult).reason.code)).toEqual([
    "EAI_AGAIN",
    "EAI_AGAIN",
  ]);
});

it("has dead names hold up no other, once they were slow", async () => {
  const { find, asked } = createSystem();
  const dead = ["dead.1", "dead.2", "dead.3"];
  const first = Promise.allSettled(dead.map(find));
  await vi.advanceTimersByTimeAsync(2 * deadMs);
  await first;
  const second = Promise.allSettled(dead.map(find));
  const well = find("well");
  await vi.advanceTimersByTimeAsync(wellMs);
  expect(await well).toHaveLength(1);
  expect(asked.slice(3).sort()).toEqual(["dead.1", "well"]);
  await vi.advanceTimersByTimeAsync(3 * deadMs);
  expect((await second).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
});
