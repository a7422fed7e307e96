import { once } from "node:events";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UpdateQueue } from "../../src/storage/sqlite/writer/update-queue.ts";

/** As many as there is room for. */
const capacity = 4096;

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

describe("the queue of updates", () => {
  it("gives back what was put, in order, and refuses what it has no room for", () => {
    const batches = fc.array(fc.array(fc.tuple(int64, int64), { maxLength: 50 }), { maxLength: 50 });
    fc.assert(
      fc.property(batches, fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), (history, start) => {
        const queue = queueFrom(start);
        for (const updates of history) {
          for (const [petId, quantity] of updates) {
            expect(queue.put(petId, quantity)).toBe(true);
          }
          expect([...queue.take()]).toEqual(updates.flat());
        }
      }),
    );
  });

  it.each([0, 2 ** 31 - 10, -10])("is full at its capacity, from position %d", (start) => {
    const queue = queueFrom(start);
    const accepted = Array.from({ length: capacity + 1 }, (_, index) => queue.put(BigInt(index), 0n));
    expect(accepted.indexOf(false)).toBe(capacity);
    expect(queue.take()).toHaveLength(2 * capacity);
    expect(queue.put(1n, 1n)).toBe(true);
  });

  it("has a sleeper woken once, by the first who asks", () => {
    const queue = new UpdateQueue();
    expect(queue.mustWake()).toBe(false);
    expect(queue.sleep()).toBe(true);
    queue.put(1n, 1n);
    expect([queue.mustWake(), queue.mustWake()]).toEqual([true, false]);
  });

  it("lets nobody sleep who has something to take", () => {
    const queue = new UpdateQueue();
    queue.put(1n, 1n);
    expect(queue.sleep()).toBe(false);
    expect(queue.mustWake()).toBe(false);
  });

  it("loses nothing between two threads", async () => {
    const queue = new UpdateQueue();
    const count = 50_000n;
    const source = new URL("../../src/storage/sqlite/writer/update-queue.ts", import.meta.url);
    const thread = new Worker(
      `import { workerData, parentPort } from "node:worker_threads";
       const { UpdateQueue } = await import(workerData.source);
       const queue = new UpdateQueue(workerData.memory);
       let next = 0n;
       while (next < workerData.count) {
         for (const value of queue.take()) {
           if (value !== next / 2n) throw new Error("expected " + next / 2n + ", got " + value);
           next += 1n;
         }
       }
       parentPort.postMessage(next);`,
      {
        eval: true,
        execArgv: ["--input-type=module"],
        workerData: { source: source.href, memory: queue.memory, count: 2n * count },
      },
    );
    // It may end before this thread comes to look.
    const ended = Promise.all([once(thread, "message"), once(thread, "exit")]);
    for (let value = 0n; value < count; ) {
      value += queue.put(value, value) ? 1n : 0n;
    }
    expect(await ended).toEqual([[2n * count], [0]]);
  }, 60_000);
});

/** An empty queue that has seen so many updates: its positions stand behind the room for them. */
function queueFrom(start: number): UpdateQueue {
  const queue = new UpdateQueue();
  new Int32Array(queue.memory, capacity * 16, 2).fill(start);
  return queue;
}
