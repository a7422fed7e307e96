import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { inTurns } from "../../src/storage/sqlite/in-turns.ts";

/** What is done in each turn of the event loop, the one of the call first. */
async function turnsOf(count: number, atOnce: number): Promise<number[][]> {
  const turns: number[][] = [[]];
  inTurns(count, atOnce, (index) => turns.at(-1)?.push(index));
  for (let turn = 0; turn < 4; turn++) {
    turns.push([]);
    await setImmediate();
  }
  return turns.filter((done) => done.length > 0);
}

it.each([
  [0, 1, []],
  [1, 1, [[0]]],
  [3, 1, [[0], [1], [2]]],
  [5, 2, [[0, 1], [2, 3], [4]]],
  [
    4,
    2,
    [
      [0, 1],
      [2, 3],
    ],
  ],
  [3, 3, [[0, 1, 2]]],
])("does %i items, %i in each turn", async (count, atOnce, turns) => {
  expect(await turnsOf(count, atOnce)).toEqual(turns);
});
