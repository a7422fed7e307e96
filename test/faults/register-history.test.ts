import fc from "fast-check";
import { expect, it } from "vitest";
import { amount } from "../support/long.ts";
import { findContradiction, type RegisterOperation } from "./register-history.ts";

/**
 * Such as `w1 0-5` for a write of 1, `r1 2-3` for a read that has seen it, and `w2 4-` for a write without an answer.
 */
function parse(operation: string): RegisterOperation {
  const [, kind, value = "", start, end] = /^([rw])(\d+) (\d+)-(\d*)$/.exec(operation) ?? [];
  const endMs = end === "" ? Infinity : Number(end);
  return { kind: kind === "w" ? "write" : "read", value: BigInt(value), startMs: Number(start), endMs };
}

it.each([
  ["nothing"],
  ["reads of what was there at first", "r0 0-1", "r0 2-3"],
  ["a read after a write", "w1 0-1", "r1 2-3"],
  ["a read of either value during a write", "w1 0-9", "r0 1-2", "r1 3-4", "r1 5-6"],
  ["a write without an answer that has happened", "w1 0-", "r0 1-2", "r1 3-4"],
  ["a write without an answer that has not happened", "w1 0-", "r0 1-2", "r0 3-4"],
  ["a write without an answer that happens late", "w1 0-", "w2 1-2", "r2 3-4", "r1 5-6"],
  ["concurrent writes, in either order", "w1 0-9", "w2 0-9", "r2 10-11"],
  ["reads that overlap, one of the old value", "w1 0-9", "r1 1-5", "r0 2-6"],
  ["a value that nobody sees, between others", "w1 0-1", "w2 2-3", "w3 4-5", "r3 6-7"],
])("is linearisable: %s", (_title, ...operations) => {
  expect(findContradiction(0n, operations.map(parse))).toBeUndefined();
});

it.each([
  ["a value from nowhere", "r7 0-1"],
  ["a value from the future", "r1 0-1", "w1 2-3"],
  ["a lost update", "w1 0-1", "r0 2-3"],
  ["a lost update that had been seen", "w1 0-", "r1 1-2", "r0 3-4"],
  ["a return of an old value", "w1 0-1", "w2 2-3", "r1 4-5"],
  ["a value that comes, goes, and comes", "w1 0-9", "w2 0-9", "r1 10-11", "r2 12-13", "r1 14-15"],
  ["a write without an answer that happens twice", "w1 0-", "r1 1-2", "w2 3-4", "r1 5-6"],
  ["an update within the time of another value", "w1 0-1", "w2 3-4", "r1 8-9"],
])("is not linearisable: %s", (_title, ...operations) => {
  expect(findContradiction(0n, operations.map(parse))).toBeDefined();
});

/** Histories of up to six operations within a few moments, so that most of them are at odds or nearly so. */
const histories = fc
  .array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 3 }), fc.nat(8), fc.integer({ min: 1, max: 5 }), fc.nat(5)), {
    maxLength: 6,
  })
  .map((drafts) =>
    drafts.map(([isWrite, read, startMs, length, unanswered], index): RegisterOperation => {
      const endMs = isWrite && unanswered === 0 ? Infinity : startMs + length;
      return { kind: isWrite ? "write" : "read", value: BigInt(isWrite ? index + 1 : read), startMs, endMs };
    }),
  );

it("agrees with a search through all orders", () => {
  const isLinearisable = (history: RegisterOperation[]) => findContradiction(0n, history) === undefined;
  const check = fc.property(histories, (history) => isLinearisable(history) === hasOrder(0n, history));
  fc.assert(check, { numRuns: amount(5_000, 200_000) });
});

/** Whether there is an order. Source: Wing and Gong, Testing and Verifying Concurrent Objects, 1993 */
function hasOrder(value: bigint, left: readonly RegisterOperation[]): boolean {
  if (left.every(({ endMs }) => endMs === Infinity)) {
    return true;
  }
  const firstEndMs = Math.min(...left.map(({ endMs }) => endMs));
  const next = left.filter(({ startMs }) => startMs <= firstEndMs);
  return next.some((operation) => {
    const rest = left.filter((other) => other !== operation);
    return operation.kind === "write"
      ? hasOrder(operation.value, rest)
      : operation.value === value && hasOrder(value, rest);
  });
}
