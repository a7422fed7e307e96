import { int64Max } from "../../support/fixture.ts";
import type { Input } from "../../support/operations.ts";
import type { Random } from "../../support/random.ts";
import type { StockOperation } from "./call.ts";

/** A call that a client wants to make. */
export type Wish = { [O in StockOperation]: { readonly operation: O; readonly input: Input<O> } }[StockOperation];

/** What clients know, one from another. */
export interface Knowledge {
  /** Tags of late, by pet. */
  readonly etags: ReadonlyMap<bigint, string>;
  /** Holds of late, ended ones too. */
  readonly holdIds: readonly string[];
  /** A text that no other write has. */
  nextReference(): string;
}

/** Few, so that clients meet; one whose stock may be the largest there is, and one that there is not. */
const petIds = [1n, 2n, 3n, 1n, 2n, 3n, int64Max, 4_711n];

/** How often each wish comes, among the others. */
const weights: Readonly<Record<StockOperation, number>> = {
  updateInventory: 3,
  adjustInventory: 8,
  batchUpdateInventory: 3,
  createHold: 5,
  commitHold: 3,
  releaseHold: 2,
  getInventory: 4,
  getAvailability: 3,
  getHold: 1,
  listHolds: 1,
  listInventory: 2,
  listStockChanges: 1,
};

const weighted = (Object.keys(weights) as StockOperation[]).flatMap((operation) =>
  Array.from({ length: weights[operation] }, () => operation),
);

/** Wishes for something, at random. Counts are small, so that stock runs out now and then. */
export function wish(random: Random, known: Knowledge): Wish {
  const operation = random.pick(weighted);
  const petId = random.pick(petIds);
  const reference = known.nextReference();
  const etag = random.oneIn(3) ? known.etags.get(petId) : undefined;
  const holdId = known.holdIds.length === 0 || random.oneIn(20) ? "hold_of_nobody" : random.pick(known.holdIds);
  switch (operation) {
    case "updateInventory":
      return { operation, input: { petId, update: { quantity: count(random, petId), reference }, ...tagged(etag) } };
    case "adjustInventory":
      return { operation, input: { petId, adjustment: { ...addition(random, petId), reference }, ...tagged(etag) } };
    case "batchUpdateInventory":
      return { operation, input: batch(random, reference, known) };
    case "createHold": {
      // The shorter ones end while the load is on.
      const ttl = { seconds: random.oneIn(2) ? 1n : 900n };
      return { operation, input: { petId, quantity: BigInt(1 + random.below(3)), ttl, reference } };
    }
    case "commitHold":
      return { operation, input: { holdId, ...(random.oneIn(2) && { reference }) } };
    case "releaseHold":
    case "getHold":
      return { operation, input: { holdId } };
    case "getInventory":
    case "getAvailability":
      return { operation, input: { petId } };
    case "listHolds":
      return { operation, input: { petId, pageSize: 5 } };
    case "listInventory":
      return { operation, input: {} };
    case "listStockChanges":
      return { operation, input: { newestFirst: true, pageSize: 5 } };
  }
}

function batch(random: Random, reference: string, { etags }: Knowledge): Input<"batchUpdateInventory"> {
  const changes = Array.from({ length: 1 + random.below(4) }, (_, index) => {
    const petId = random.pick(petIds);
    const change = random.oneIn(4) ? { quantity: count(random, petId) } : addition(random, petId);
    const etag = random.oneIn(6) ? etags.get(petId) : undefined;
    return { petId, ...change, reference: `${reference}.${index}`, ...tagged(etag) };
  });
  return { changes, atomic: random.oneIn(2) };
}

/** Takes more often than it adds; not from the pet whose stock may be the largest, so that sums go beyond it. */
function addition(random: Random, petId: bigint): { delta: bigint; allowNegative: boolean } {
  const delta = BigInt(random.pick(petId === int64Max ? [-1, 1, 2] : [-3, -2, -1, -1, 1, 2]));
  return { delta, allowNegative: random.oneIn(10) };
}

/** A small one; now and then the largest one, for the pet that begins with it. */
function count(random: Random, petId: bigint): bigint {
  return petId === int64Max && random.oneIn(2) ? int64Max : BigInt(random.below(12));
}

function tagged(etag: string | undefined): { etag?: string } {
  return etag === undefined ? {} : { etag };
}
