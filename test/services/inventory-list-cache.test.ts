import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createInventory, listOf, readList, readSegments } from "./inventory-store.ts";

/** Entries in a page, and in a segment, so that the tests have counts on either side. */
const page = 512;
const segment = 128 * page;

describe("the list", () => {
  it.each([0, 1, page - 1, page, page + 1, 3 * page])("of %i entries is whole, in one run of bytes", async (count) => {
    const { cache, stock } = createInventory(count);
    const body = await cache.list();
    expect(body).toBeInstanceOf(Uint8Array);
    expect(Buffer.from(body as Uint8Array).toString()).toBe(listOf(stock));
  });

  it("is given again as the same bytes, with nothing read", async () => {
    const inventory = createInventory(3 * page);
    const body = await inventory.cache.list();
    const { reads } = inventory;
    expect(await inventory.cache.list()).toBe(body);
    expect(inventory.reads).toBe(reads);
  });

  it.each([0, page - 1, page, 2 * page - 1, 5 * page - 1])(
    "reads one page anew after an update of the entry %i",
    async (index) => {
      const inventory = createInventory(5 * page);
      await readList(inventory.cache);
      const { reads } = inventory;
      const petId = BigInt(index) * 10n;
      inventory.stock.set(petId, 5n);
      inventory.cache.markStale(petId);
      expect(await readList(inventory.cache)).toBe(listOf(inventory.stock));
      expect(inventory.reads).toBe(reads + 1);
    },
  );

  it("leaves the bytes alone that were given before an update", async () => {
    const { cache, stock } = createInventory(3 * page);
    const before = listOf(stock);
    const body = await cache.list();
    stock.set(0n, 123_456n);
    cache.markStale(0n);
    await readList(cache);
    expect(Buffer.from(body as Uint8Array).toString()).toBe(before);
  });

  it("fails as the reading does, and is whole the next time", async () => {
    const inventory = createInventory(3 * page);
    inventory.afterRead = () => {
      if (inventory.reads === 2) {
        throw new Error("the disk failed");
      }
    };
    await expect(inventory.cache.list()).rejects.toThrow("the disk failed");
    expect(await readList(inventory.cache)).toBe(listOf(inventory.stock));
  });
});

describe("an update while a page is being read", () => {
  it("is in the next list, though the reading was older", async () => {
    const inventory = createInventory(2 * page);
    inventory.afterRead = () => {
      inventory.afterRead = () => {};
      inventory.stock.set(10n, 7n);
      inventory.cache.markStale(10n);
    };
    await readList(inventory.cache);
    expect(await readList(inventory.cache)).toBe(listOf(inventory.stock));
  });

  it("is in a list that is asked for before the reading ends", async () => {
    const inventory = createInventory(2 * page);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { promise: reading, resolve: hasRead } = Promise.withResolvers<void>();
    inventory.afterRead = () => {
      hasRead();
      return held;
    };
    const early = readList(inventory.cache);
    await reading;
    inventory.stock.set(10n, 7n);
    inventory.cache.markStale(10n);
    const late = readList(inventory.cache);
    release();
    await early;
    expect(await late).toBe(listOf(inventory.stock));
  });

  it("is not forgotten when it is of a page that was made anew", async () => {
    const inventory = createInventory(2 * page);
    await readList(inventory.cache);
    inventory.cache.markStale(10n);
    inventory.afterRead = () => {
      inventory.afterRead = () => {};
      inventory.stock.set(10n, 7n);
      inventory.cache.markStale(10n);
    };
    await readList(inventory.cache);
    expect(await readList(inventory.cache)).toBe(listOf(inventory.stock));
  });
});

describe("what others have written", () => {
  it.each([2 * page, segment + page])("keeps the memory of %i entries that are the same", async (count) => {
    const { cache } = createInventory(count);
    const before = await readSegments(cache);
    cache.clear();
    cache.clear();
    const after = await readSegments(cache);
    expect(after).toHaveLength(before.length);
    for (const [index, bytes] of after.entries()) {
      expect(bytes).toBe(before[index]);
    }
  });

  it("is in the list once all is dropped: new entries and changed ones", async () => {
    const { cache, stock } = createInventory(2 * page);
    await readList(cache);
    for (const id of [-1n, 5n, 10n, 100_000n]) {
      stock.set(id, 9n);
    }
    cache.clear();
    expect(await readList(cache)).toBe(listOf(stock));
  });

  it("makes no list malformed before it is noticed, however many entries have come between", async () => {
    const { cache, stock } = createInventory(page + 1);
    await readList(cache);
    for (let id = 1n; id < 5_000n; id += 1n) {
      stock.set(id, 9n);
    }
    cache.markStale(3n);
    expect(await readList(cache)).toBe(listOf(stock));
  });
});

describe("a list of more than one segment", () => {
  it("comes in segments, of which an update remakes one", async () => {
    const inventory = createInventory(segment + page);
    const body = await inventory.cache.list();
    expect(body).not.toBeInstanceOf(Uint8Array);
    const before = await Array.fromAsync(body as AsyncIterable<Uint8Array>);
    expect(before).toHaveLength(2);
    inventory.stock.set(BigInt(segment) * 10n, 8n);
    inventory.cache.markStale(BigInt(segment) * 10n);
    const after = await readSegments(inventory.cache);
    expect(after[0]).toBe(before[0]);
    expect(Buffer.concat(after).toString()).toBe(listOf(inventory.stock));
  });

  it.each([segment, segment + 1])("of %i entries is whole", async (count) => {
    const { cache, stock } = createInventory(count);
    expect(await readList(cache)).toBe(listOf(stock));
  });

  it("goes on in order when all is dropped on the way", async () => {
    const { cache, stock } = createInventory(segment + page);
    const body = await cache.list();
    const iterator = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    const first = await iterator.next();
    stock.set(BigInt(segment) * 10n + 1n, 8n);
    cache.clear();
    await readList(cache);
    const rest = await Array.fromAsync({ [Symbol.asyncIterator]: () => iterator });
    expect(Buffer.concat([first.value, ...rest]).toString()).toBe(listOf(stock));
  });
});

type Operation = { readonly update: bigint } | { readonly imported: readonly bigint[] } | "list" | "pause";

const operations = fc.array(
  fc.oneof<fc.Arbitrary<Operation>[]>(
    fc.bigInt(0n, 15_000n).map((update) => ({ update })),
    fc.array(fc.bigInt(-5n, 16_000n), { maxLength: 3 }).map((imported) => ({ imported })),
    fc.constant("list" as const),
    fc.constant("pause" as const),
  ),
  { maxLength: 30 },
);

it("shows in every list what was done before it was asked for, and is the stock when all is done", async () => {
  await fc.assert(
    fc.asyncProperty(operations, async (history) => {
      const inventory = createInventory(1_300);
      const { cache, stock } = inventory;
      // What is read is some turns old before it is used, so that all else may happen meanwhile.
      inventory.afterRead = async () => {
        await setImmediate();
        await setImmediate();
      };
      const lists: Promise<void>[] = [];
      let quantity = 0n;
      for (const operation of history) {
        if (operation === "list") {
          lists.push(checkNotOlder(new Map(stock), cache));
        } else if (operation === "pause") {
          await setImmediate();
        } else if ("update" in operation) {
          const id = (operation.update / 10n) * 10n;
          if (stock.has(id)) {
            quantity += 1n;
            stock.set(id, quantity);
            cache.markStale(id);
          }
        } else {
          for (const id of operation.imported) {
            quantity += 1n;
            stock.set(id, quantity);
          }
          cache.clear();
        }
      }
      await Promise.all(lists);
      expect(await readList(cache)).toBe(listOf(stock));
    }),
    { numRuns: 60 },
  );
});

/** Quantities only rise: so a list shows what was there when it was asked for, or something later. */
async function checkNotOlder(stock: ReadonlyMap<bigint, bigint>, cache: Parameters<typeof readList>[0]): Promise<void> {
  const items = JSON.parse(await readList(cache)) as { petId: number; quantity: number }[];
  const ids = items.map(({ petId }) => petId);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  const seen = new Map(items.map(({ petId, quantity }) => [BigInt(petId), BigInt(quantity)]));
  for (const [id, quantity] of stock) {
    expect(seen.get(id) ?? -1n).toBeGreaterThanOrEqual(quantity);
  }
}
