import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ChangeTokens } from "../../src/domain/store.ts";
import { TokenWatcher } from "../../src/storage/external-changes.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/**
 * Watches a store that gives these tokens of its keys in turn, and the last of them for ever. Returns after which it
 * called back.
 */
async function watch(...answers: (number | Error)[]): Promise<number[]> {
  const calls: number[] = [];
  let asked = 0;
  const changeTokens = async () => {
    const answer = answers[Math.min(asked, answers.length - 1)] as number | Error;
    asked += 1;
    if (answer instanceof Error) {
      throw answer;
    }
    return { keys: answer, stock: asked, usage: 0, webhooks: 0 };
  };
  const watching = new TokenWatcher({ changeTokens });
  watching.subscribe("keys", () => calls.push(asked));
  await vi.advanceTimersByTimeAsync(2_000);
  await watching.close();
  const before = asked;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(asked).toBe(before);
  return calls;
}

it.each<[says: (number | Error)[], calledAfter: number[]]>([
  [[4], [1]],
  [
    [4, 4, 5],
    [1, 3],
  ],
  [
    [4, 5, 4],
    [1, 2, 3],
  ],
  // While a store fails nobody knows, and what it says next is news, though it be the same.
  [
    [4, new Error("busy"), 4],
    [1, 2, 3],
  ],
  [
    [new Error("busy"), 4],
    [1, 2],
  ],
])("calls back when a store says %s, after %j", async (says, calledAfter) => {
  expect(await watch(...says)).toEqual(calledAfter);
});

it("tells of what is not counted, and not while a store fails", async () => {
  const tokens: ChangeTokens = { keys: 1, stock: 1, usage: 1, webhooks: 1 };
  const uncounted = [0, 0, undefined, 0, 1, 1];
  let asked = 0;
  const watching = new TokenWatcher({
    changeTokens: async () => {
      const answer = uncounted[asked++];
      if (answer === undefined) {
        throw new Error("busy");
      }
      return { ...tokens, uncounted: answer };
    },
  });
  const calls: number[] = [];
  watching.onUncounted(() => calls.push(asked));
  await vi.advanceTimersByTimeAsync(1_300);
  expect(calls).toEqual([1, 5]);
  await watching.close();
});

it("looks often enough to be within a second", async () => {
  const tokens = { keys: 1, stock: 1, usage: 1, webhooks: 1 };
  let calls = 0;
  const watching = new TokenWatcher({ changeTokens: async () => ({ ...tokens }) });
  watching.subscribe("stock", () => {
    calls += 1;
  });
  await vi.advanceTimersByTimeAsync(10);
  tokens.stock = 2;
  await vi.advanceTimersByTimeAsync(500);
  expect(calls).toBe(2);
  await watching.close();
});

it("asks a slow store but once at a time", async () => {
  let asked = 0;
  const { promise, resolve } = Promise.withResolvers<ChangeTokens>();
  const watching = new TokenWatcher({
    changeTokens: () => {
      asked += 1;
      return promise;
    },
  });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(asked).toBe(1);
  resolve({ keys: 1, stock: 1, usage: 1, webhooks: 1 });
  await watching.close();
});

it.each([
  [500, 1],
  [750, 2],
  [1_000, 3],
])("takes caches for out of date when an answer takes too long: %d ms, %d calls", async (lateMs, expected) => {
  let calls = 0;
  const { promise, resolve } = Promise.withResolvers<ChangeTokens>();
  const watching = new TokenWatcher({ changeTokens: () => promise });
  watching.subscribe("usage", () => {
    calls += 1;
  });
  await vi.advanceTimersByTimeAsync(lateMs);
  resolve({ keys: 1, stock: 1, usage: 1, webhooks: 1 });
  await vi.advanceTimersByTimeAsync(0);
  // The first answer always counts as a change.
  expect(calls).toBe(expected);
  await watching.close();
});
