import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Batch } from "../../src/http/batch.ts";

const afterTurn = (run: () => void) => void globalThis.setImmediate(run);

/** A batch that notes what it does, with the turn of the event loop in which it does it. */
function createBatch() {
  const done: [item: number, turn: number][] = [];
  const loop = { turn: 0 };
  const batch = new Batch<number>(afterTurn, (item) => done.push([item, loop.turn]));
  return { batch, done, loop };
}

async function turns(loop: { turn: number }, count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await setImmediate();
    loop.turn += 1;
  }
}

describe("a batch", () => {
  it("does nothing before the turn ends, and then all in order", async () => {
    const { batch, done, loop } = createBatch();
    for (const item of [1, 2, 3]) {
      batch.add(item);
    }
    await Promise.resolve();
    expect(done).toEqual([]);
    await turns(loop, 1);
    expect(done).toEqual([1, 2, 3].map((item) => [item, 0]));
  });

  it("lets the event loop take its turn after 16 items", async () => {
    const { batch, done, loop } = createBatch();
    for (let item = 0; item < 40; item += 1) {
      batch.add(item);
    }
    await turns(loop, 6);
    expect(done.map(([item]) => item)).toEqual(Array.from({ length: 40 }, (_, item) => item));
    const rows = Map.groupBy(done, ([, turn]) => turn);
    expect([...rows.values()].map((row) => row.length)).toEqual([16, 16, 8]);
  });

  it("begins as soon as all that is settled has gone on, where it is put off until then", async () => {
    const done: string[] = [];
    const batch = new Batch<string>(
      (run) => process.nextTick(run),
      (item) => done.push(item),
    );
    const seen: string[][] = [];
    const first = setImmediate().then(() => {
      batch.add("one");
      batch.add("two");
      seen.push([...done]);
    });
    // It comes in the same turn, after the first.
    await Promise.all([first, setImmediate().then(() => seen.push([...done]))]);
    expect(seen).toEqual([[], ["one", "two"]]);
  });

  it("does what is added while it is at work", async () => {
    const done: number[] = [];
    const batch: Batch<number> = new Batch(afterTurn, (item) => {
      done.push(item);
      if (item < 3) {
        batch.add(item + 1);
      }
    });
    batch.add(0);
    await turns({ turn: 0 }, 6);
    expect(done).toEqual([0, 1, 2, 3]);
  });
});
