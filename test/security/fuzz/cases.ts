import { expect, it } from "vitest";
import { amount, isLong } from "../../support/long.ts";
import { Random } from "../../support/random.ts";
import { expectQuick, maxCaseMs } from "./quick.ts";

/**
 * What is tried again and again, each time with other choices. It throws where a promise of the service is broken, and
 * says so where what it made is refused.
 */
export type Case = (random: Random, refused: () => void) => void | Promise<void>;

/** How many cases there are, in `npm test` and in the long run. */
export interface CaseCount {
  readonly usual: number;
  readonly long: number;
  /** Seeds that have found something. They always come first. */
  readonly found?: readonly number[];
}

/** Longer than the cases of any one test take, in milliseconds. */
export const fuzzTimeoutMs = 480_000;

/** A test that tries so many cases in this process. Each ends within 50 ms of the processor's time; some are taken. */
export function fuzz(promise: string, count: CaseCount, tryCase: Case): void {
  const cases = seedsOf(count);
  it(`${promise}: ${cases.length} cases`, { timeout: fuzzTimeoutMs }, async () => {
    const refused = new Set<number>();
    for (const seed of cases) {
      await tryQuickly(seed, (random) => tryCase(random, () => void refused.add(seed)));
    }
    // What refuses everything keeps most promises, too.
    expect(refused.size).toBeLessThan(new Set(cases).size);
  });
}

/**
 * The seeds of a test's cases, one each, in a row. `PETSTORE_FUZZ_SEED` is the first of them: the seed of a case that
 * has failed makes it the first. By default `npm test` has the same ones each time, and the long run others.
 */
export function seedsOf({ usual, long, found = [] }: CaseCount): number[] {
  return [...found, ...Array.from({ length: amount(usual, long) }, (_, index) => (firstSeed + index) >>> 0)];
}

const firstSeed = Number(process.env.PETSTORE_FUZZ_SEED ?? (isLong ? Math.floor(Math.random() * 2 ** 32) : 1));

async function tryQuickly(seed: number, tryCase: (random: Random) => void | Promise<void>): Promise<void> {
  const start = performance.now();
  try {
    const running = tryCase(new Random(seed));
    // Most cases are over by now, and are not to wait for a turn of the microtask queue.
    if (running !== undefined) {
      await running;
    }
    if (performance.now() - start > maxCaseMs) {
      await expectQuick(() => tryCase(new Random(seed)));
    }
  } catch (reason) {
    throw failure(seed, reason);
  }
}

/** The failure of a case, with the seed that repeats it. */
export function failure(seed: number, reason: unknown): Error {
  const message = reason instanceof Error ? reason.message : String(reason);
  return new Error(`PETSTORE_FUZZ_SEED=${seed}: ${message}`, { cause: reason });
}
