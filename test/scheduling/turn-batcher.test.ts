import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { runInTurns, TurnBatcher } from "../../src/scheduling/turn-batcher.ts";

const afterTurn = (run: () => void) => void globalThis.setImmediate(run);

/** Callers that wait for their turns. Each is recorded with the turn of the event loop in which it had its own. */
function createCallers() {
  const done: [caller: number, turn: number][] = [];
  const loop = { turn: 0 };
  const batcher = new TurnBatcher<number>(afterTurn, (caller) => done.push([caller, loop.turn]));
  return { add: (caller: number) => batcher.add(caller), done, loop };
}

async function turns(loop: { turn: number }, count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await setImmediate();
    loop.turn += 1;
  }
}

describe("a turn batcher", () => {
  it("starts at the end of the turn, and keeps the order", async () => {
    const { add, done, loop } = createCallers();
    for (const caller of [1, 2, 3]) {
      add(caller);
    }
    await Promise.resolve();
    expect(done).toEqual([]);
    await turns(loop, 1);
    expect(done).toEqual([1, 2, 3].map((caller) => [caller, 0]));
  });

  it("has 16 callers in a turn of the event loop", async () => {
    const { add, done, loop } = createCallers();
    for (let caller = 0; caller < 40; caller += 1) {
      add(caller);
    }
    await turns(loop, 6);
    expect(done.map(([caller]) => caller)).toEqual(Array.from({ length: 40 }, (_, caller) => caller));
    const batches = Map.groupBy(done, ([, turn]) => turn);
    expect([...batches.values()].map((batch) => batch.length)).toEqual([16, 16, 8]);
  });

  it("has 16 callers in a turn, in order, even if more of them come in each turn", async () => {
    const { add, done, loop } = createCallers();
    let made = 0;
    for (let turn = 0; turn < 5; turn += 1) {
      for (let count = 0; count < 40; count += 1) {
        add(made++);
      }
      await turns(loop, 1);
    }
    await turns(loop, 20);
    expect(done.map(([caller]) => caller)).toEqual(Array.from({ length: made }, (_, caller) => caller));
    const batches = Map.groupBy(done, ([, turn]) => turn);
    expect(Math.max(...[...batches.values()].map((batch) => batch.length))).toBe(16);
  });

  it("starts after the promises that are settled, when it is deferred to the next tick", async () => {
    const done: string[] = [];
    const batcher = new TurnBatcher<string>(
      (run) => process.nextTick(run),
      (caller) => done.push(caller),
    );
    const seen: string[][] = [];
    const first = setImmediate().then(() => {
      batcher.add("one");
      batcher.add("two");
      seen.push([...done]);
    });
    // The second callback runs in the same turn, after the first.
    await Promise.all([first, setImmediate().then(() => seen.push([...done]))]);
    expect(seen).toEqual([[], ["one", "two"]]);
  });

  it("has a turn for a caller that asks again in its turn", async () => {
    const done: number[] = [];
    const batcher = new TurnBatcher<number>(afterTurn, (caller) => {
      done.push(caller);
      if (caller < 3) {
        batcher.add(caller + 1);
      }
    });
    batcher.add(0);
    await turns({ turn: 0 }, 6);
    expect(done).toEqual([0, 1, 2, 3]);
  });
});

describe("runInTurns", () => {
  it.each<[count: number, perTurn: number, turns: number[][]]>([
    [0, 1, []],
    [1, 1, [[0]]],
    [3, 1, [[0], [1], [2]]],
    [5, 2, [[0, 1], [2, 3], [4]]],
    // biome-ignore format: one row a case
    [4, 2, [[0, 1], [2, 3]]],
    [3, 3, [[0, 1, 2]]],
  ])("does %i items, %i in each turn, the first ones at once", async (count, perTurn, expected) => {
    const done: number[][] = [[]];
    const items = Array.from({ length: count }, (_, item) => item);
    runInTurns(items, perTurn, (item) => done.at(-1)?.push(item));
    for (let turn = 0; turn < 4; turn++) {
      done.push([]);
      await setImmediate();
    }
    expect(done.filter((batch) => batch.length > 0)).toEqual(expected);
  });
});
