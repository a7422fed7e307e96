import fc from "fast-check";
import { expect, it } from "vitest";
import { amount } from "../support/long.ts";
import { findUnplaceable, type Interval, type SequentialModel } from "./linearisation.ts";

/** Adds a delta, and is answered with the sum; a delta of 0 reads. */
interface Addition extends Interval {
  readonly delta: number;
  readonly sum: number;
}

class Counter implements SequentialModel<Addition> {
  #sum = 0;
  readonly remainder = "";

  apply({ delta, sum }: Addition) {
    if (this.#sum + delta !== sum) {
      return undefined;
    }
    this.#sum = sum;
    return delta === 0
      ? "nothing"
      : () => {
          this.#sum -= delta;
        };
  }
}

/** Such as `+2=5 0-3`: adds 2 from moment 0 to moment 3, and is told 5. */
function parse(text: string): Addition {
  const [, delta, sum, startMs, endMs] = /^\+(-?\d+)=(-?\d+) (\d+)-(\d+)$/.exec(text) ?? [];
  return { delta: Number(delta), sum: Number(sum), startMs: Number(startMs), endMs: Number(endMs) };
}

it.each([
  ["nothing"],
  ["calls one after the other", "+1=1 0-1", "+1=2 2-3", "+0=2 4-5"],
  ["calls at once, in either order", "+1=3 0-9", "+2=2 0-9", "+0=3 10-11"],
  ["a read of either sum during a call", "+1=1 0-9", "+0=0 1-2", "+0=1 3-4"],
  ["a call that must wait for a later one", "+1=4 0-9", "+3=3 5-8"],
])("has an order: %s", (_title, ...calls) => {
  expect(findUnplaceable(new Counter(), calls.map(parse))).toBeUndefined();
});

it.each([
  ["a sum from nowhere", "+0=7 0-1"],
  ["a lost call", "+1=1 0-1", "+1=1 2-3"],
  ["an old sum after a new one", "+1=1 0-9", "+0=1 1-2", "+0=0 3-4"],
  ["an order against time", "+1=2 0-1", "+1=1 2-3"],
])("has no order: %s", (_title, ...calls) => {
  expect(findUnplaceable(new Counter(), calls.map(parse))).toBeDefined();
});

it("names the call at which the longest attempt fails", () => {
  const calls = ["+1=1 0-1", "+1=2 2-3", "+1=2 4-5", "+1=4 6-7"].map(parse);
  expect(findUnplaceable(new Counter(), calls)).toBe(calls[2]);
});

/** Up to six calls within a few moments, so that most of them are at odds or nearly so. */
const histories = fc.array(
  fc
    .record({ delta: fc.nat(2), sum: fc.nat(5), startMs: fc.nat(8), length: fc.nat(5) })
    .map(({ length, ...call }) => ({ ...call, endMs: call.startMs + length })),
  { maxLength: 6 },
);

it("agrees with a search through all orders", () => {
  const check = fc.property(
    histories,
    (calls) => (findUnplaceable(new Counter(), calls) === undefined) === hasOrder(0, calls),
  );
  fc.assert(check, { numRuns: amount(5_000, 200_000) });
});

function hasOrder(sum: number, left: readonly Addition[]): boolean {
  const firstEndMs = Math.min(...left.map(({ endMs }) => endMs));
  return (
    left.length === 0 ||
    left.some(
      (call) =>
        call.startMs <= firstEndMs &&
        sum + call.delta === call.sum &&
        hasOrder(
          call.sum,
          left.filter((other) => other !== call),
        ),
    )
  );
}
