import { once } from "node:events";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StockCommand } from "../../src/domain/stock.ts";
import type { WriteContext } from "../../src/domain/store.ts";
import { CommandQueue, type QueuedCommand } from "../../src/storage/sqlite/writer/command-queue.ts";
import { anyCharacter } from "../support/any-character.ts";
import { createContext, createIdempotency } from "./samples.ts";

/** As many as there is room for. */
const capacity = 8192;

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const text = fc.string({ unit: anyCharacter, maxLength: 30 });
const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const notes = { petId: int64, versions: some(fc.array(text)), reason: some(text), reference: some(text) };
const commands: fc.Arbitrary<StockCommand> = fc.oneof(
  fc.record({ kind: fc.constant("set" as const), quantity: int64, ...notes }),
  fc.record({ kind: fc.constant("adjust" as const), delta: int64, allowNegative: fc.boolean(), ...notes }),
);
const contexts: fc.Arbitrary<WriteContext> = fc.record({
  nowMs: fc.maxSafeNat(),
  keyId: fc.constantFrom("key_a", "key_b", "", "ключ"),
  requestId: text,
  idempotency: some(fc.tuple(text, text).map(([key, content]) => createIdempotency(key, content))),
});
const queued: fc.Arbitrary<QueuedCommand> = fc.record({ command: commands, context: contexts });

const set = (petId: bigint, reason?: string): StockCommand => ({
  kind: "set",
  petId,
  quantity: petId,
  versions: undefined,
  reason,
  reference: undefined,
});
const context = createContext();

describe("the queue of commands", () => {
  it("gives back what was put, in order, and the answers to it", () => {
    const groups = fc.array(fc.array(queued, { maxLength: 20 }), { maxLength: 20 });
    fc.assert(
      fc.property(groups, fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), (history, start) => {
        const [queue, other] = endsFrom(start);
        for (const group of history) {
          for (const { command, context } of group) {
            expect(queue.put(command, context)).toBe(true);
          }
          expect(other.take()).toEqual(group);
          const answers = group.map(({ command }, index) => ({
            code: index,
            quantity: command.petId,
            revision: index,
          }));
          other.answer(answers);
          expect(answers.map(() => queue.readAnswer())).toEqual(answers);
        }
      }),
    );
  });

  it.each([0, 2 ** 31 - 10, -10])("is full at its capacity, until answers are read, from position %d", (start) => {
    const [queue, other] = endsFrom(start);
    const accepted = Array.from({ length: capacity + 1 }, (_, index) => queue.put(set(BigInt(index)), context));
    expect(accepted.indexOf(false)).toBe(capacity);
    expect(other.take()).toHaveLength(capacity);
    expect(queue.put(set(1n), context)).toBe(false);
    queue.skipAnswer();
    expect(queue.put(set(1n), context)).toBe(true);
    expect(queue.put(set(1n), context)).toBe(false);
  });

  it("is full when its texts are, and loses none of them", () => {
    const [queue, other] = endsFrom(0);
    const long = "ä".repeat(30_000);
    let count = 0;
    while (queue.put(set(BigInt(count), long), context)) {
      count += 1;
    }
    expect(count).toBeGreaterThan(10);
    expect(count).toBeLessThan(capacity);
    for (let round = 0; round < 3 * count; round++) {
      while (!queue.put(set(0n, `${round}${long}`), context)) {
        queue.skipAnswer();
      }
      const taken = other.take();
      expect(taken.at(-1)?.command.reason).toBe(`${round}${long}`);
      expect(taken.every(({ command }) => command.reason?.endsWith(long))).toBe(true);
    }
  });

  it("has a sleeper woken once, by the first who asks", () => {
    const queue = new CommandQueue();
    expect(queue.mustWake()).toBe(false);
    expect(queue.sleep()).toBe(true);
    queue.put(set(1n), context);
    expect([queue.mustWake(), queue.mustWake()]).toEqual([true, false]);
  });

  it("lets nobody sleep who has something to take", () => {
    const queue = new CommandQueue();
    queue.put(set(1n), context);
    expect(queue.sleep()).toBe(false);
    expect(queue.mustWake()).toBe(false);
  });

  it("loses nothing between two threads", async () => {
    const queue = new CommandQueue();
    const count = 50_000;
    const source = new URL("../../src/storage/sqlite/writer/command-queue.ts", import.meta.url);
    const thread = new Worker(
      `import { workerData, parentPort } from "node:worker_threads";
       const { CommandQueue } = await import(workerData.source);
       const queue = new CommandQueue(workerData.memory);
       for (let next = 0; next < workerData.count; ) {
         const taken = queue.take();
         for (const { command, context } of taken) {
           if (command.petId !== BigInt(next) || context.requestId !== "request " + next) {
             throw new Error("expected " + next + ", got " + command.petId + " of " + context.requestId);
           }
           next += 1;
         }
         queue.answer(taken.map(({ command }) => ({ code: 0, quantity: command.petId, revision: 0 })));
         if (taken.length > 0) parentPort.postMessage(taken.length);
       }`,
      {
        eval: true,
        execArgv: ["--input-type=module"],
        workerData: { source: source.href, memory: queue.memory, count },
      },
    );
    const exited = once(thread, "exit");
    let answered = 0;
    thread.on("message", (length: number) => {
      for (const end = answered + length; answered < end; answered++) {
        expect(queue.readAnswer().quantity).toBe(BigInt(answered));
      }
    });
    for (let next = 0; next < count; ) {
      const isPut = queue.put(set(BigInt(next)), createContext({ requestId: `request ${next}` }));
      next += isPut ? 1 : 0;
      await (isPut ? undefined : new Promise(setImmediate));
    }
    expect(await exited).toEqual([0]);
    expect(answered).toBe(count);
  }, 60_000);
});

/** Both ends of an empty queue that has seen so many commands: its positions stand past the room for them. */
function endsFrom(start: number): [CommandQueue, CommandQueue] {
  const { memory } = new CommandQueue();
  new Int32Array(memory, 0, 2).fill(start);
  return [new CommandQueue(memory), new CommandQueue(memory)];
}
