import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readList, readSegments, readState, segmentsOf, TestInventory } from "./inventory-store.ts";

/** Entries in a page, and in a segment, so that the tests have counts on either side. */
const page = 512;
const segment = 128 * page;

/** Reads the list, and expects it to be what it was at its revision, and that not to be before `revision`. */
async function expectExact(inventory: TestInventory, revision = inventory.revision): Promise<void> {
  const state = await readState(inventory.cache);
  expect(state.list).toBe(inventory.listAt(state.revision));
  expect(state.revision).toBeGreaterThanOrEqual(revision);
}

describe("the list", () => {
  it.each([0, 1, page - 1, page, page + 1, 3 * page])("of %i entries is whole, in one run of bytes", async (count) => {
    const inventory = new TestInventory(count);
    const { body, revision } = await inventory.cache.list();
    expect(body).toBeInstanceOf(Uint8Array);
    expect(Buffer.from(body as Uint8Array).toString()).toBe(inventory.listAt(0n));
    expect(revision).toBe(0n);
  });

  it("is given again as the same bytes, with nothing read", async () => {
    const inventory = new TestInventory(3 * page);
    const { body } = await inventory.cache.list();
    const { reads } = inventory;
    expect((await inventory.cache.list()).body).toBe(body);
    expect(inventory.reads).toBe(reads);
  });

  it.each([0, page - 1, page, 2 * page - 1, 5 * page - 1])(
    "reads one page anew after a change of the entry %i",
    async (index) => {
      const inventory = new TestInventory(5 * page);
      await readList(inventory.cache);
      const { reads } = inventory;
      inventory.change(BigInt(index) * 10n, 5n);
      expect(await readState(inventory.cache)).toEqual({ list: inventory.listAt(1n), revision: 1n });
      expect(inventory.reads).toBe(reads + 1);
    },
  );

  it("leaves the bytes alone that were given before a change", async () => {
    const inventory = new TestInventory(3 * page);
    const { body } = await inventory.cache.list();
    inventory.change(0n, 123_456n);
    await readList(inventory.cache);
    expect(Buffer.from(body as Uint8Array).toString()).toBe(inventory.listAt(0n));
  });

  it("fails as the reading does, and is whole the next time", async () => {
    const inventory = new TestInventory(3 * page);
    inventory.afterRead = () => {
      if (inventory.reads === 2) {
        throw new Error("the disk failed");
      }
    };
    await expect(inventory.cache.list()).rejects.toThrow("the disk failed");
    await expectExact(inventory);
  });

  it("leaves out what others have written until it is told", async () => {
    const inventory = new TestInventory(2 * page);
    inventory.changeUntold(10n, 7n);
    inventory.changeUntold(15n, 8n);
    expect(await readState(inventory.cache)).toEqual({ list: inventory.listAt(0n), revision: 0n });
    inventory.cache.allChanged(2n);
    expect(await readState(inventory.cache)).toEqual({ list: inventory.listAt(2n), revision: 2n });
  });
});

describe("a change while a page is being read", () => {
  /** Makes the change once, when the next page has been read. */
  function changeAfterRead(inventory: TestInventory): void {
    inventory.afterRead = () => {
      inventory.afterRead = () => {};
      inventory.change(10n, 7n);
    };
  }

  it("is in the next list, and not in this one", async () => {
    const inventory = new TestInventory(2 * page);
    changeAfterRead(inventory);
    expect(await readState(inventory.cache)).toEqual({ list: inventory.listAt(0n), revision: 0n });
    expect(await readState(inventory.cache)).toEqual({ list: inventory.listAt(1n), revision: 1n });
  });

  it("is in a list that is asked for before the reading ends", async () => {
    const inventory = new TestInventory(2 * page);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { promise: reading, resolve: hasRead } = Promise.withResolvers<void>();
    inventory.afterRead = () => {
      hasRead();
      return held;
    };
    const early = readState(inventory.cache);
    await reading;
    inventory.change(10n, 7n);
    const late = readState(inventory.cache);
    release();
    expect(await early).toEqual({ list: inventory.listAt(0n), revision: 0n });
    expect(await late).toEqual({ list: inventory.listAt(1n), revision: 1n });
  });

  it("is not forgotten when it is of a page that was made anew", async () => {
    const inventory = new TestInventory(2 * page);
    await readList(inventory.cache);
    inventory.change(10n, 6n);
    changeAfterRead(inventory);
    await expectExact(inventory);
    await expectExact(inventory);
  });

  it("lets a second list share the reading where nothing has changed", async () => {
    const inventory = new TestInventory(2 * page);
    const lists = await Promise.all([inventory.cache.list(), inventory.cache.list()]);
    const { reads } = inventory;
    expect(lists[0].body).toBe(lists[1].body);
    expect(reads).toBe(3);
  });
});

describe("what others have written", () => {
  it.each([2 * page, segment + page])("keeps the memory of %i entries that are the same", async (count) => {
    const { cache } = new TestInventory(count);
    const before = await readSegments(cache);
    cache.allChanged(1n);
    cache.allChanged(2n);
    const after = await readSegments(cache);
    expect(after).toHaveLength(before.length);
    for (const [index, bytes] of after.entries()) {
      expect(bytes).toBe(before[index]);
    }
  });

  it("is in the list once it is told: new entries and changed ones", async () => {
    const inventory = new TestInventory(2 * page);
    await readList(inventory.cache);
    inventory.import([-1n, 5n, 10n, 100_000n], 9n);
    await expectExact(inventory);
  });

  it("is not in a list that began before, though new entries stand after its last one", async () => {
    const inventory = new TestInventory(page + 1);
    await readList(inventory.cache);
    inventory.change(0n, 1n);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    inventory.afterRead = () => held;
    const running = readState(inventory.cache);
    await setImmediate();
    inventory.change(10n, 1n);
    const waiting = readState(inventory.cache);
    await setImmediate();
    inventory.import([1_000_000n], 9n);
    release();
    expect(await running).toEqual({ list: inventory.listAt(1n), revision: 1n });
    expect(await waiting).toEqual({ list: inventory.listAt(2n), revision: 2n });
    await expectExact(inventory);
  });
});

describe("a list of more than one segment", () => {
  it("comes in segments, of which a change remakes one", async () => {
    const inventory = new TestInventory(segment + page);
    const before = await readSegments(inventory.cache);
    expect(before).toHaveLength(2);
    inventory.change(BigInt(segment) * 10n, 8n);
    const after = await readSegments(inventory.cache);
    expect(after[0]).toBe(before[0]);
    expect(Buffer.concat(after).toString()).toBe(inventory.listAt(1n));
  });

  it.each([segment, segment + 1])("of %i entries is whole", async (count) => {
    await expectExact(new TestInventory(count));
  });

  /** Begins to read the list, has something happen after its first segment, and reads on. */
  async function readAcross(inventory: TestInventory, happen: () => Promise<void> | void): Promise<Uint8Array[]> {
    const { body } = await inventory.cache.list();
    const iterator = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    const first = await iterator.next();
    await happen();
    const rest = await segmentsOf({ [Symbol.asyncIterator]: () => iterator });
    return [first.value, ...rest];
  }

  it.each(["made", "not made"])("stays as it was when it began, though a segment that is %s changes", async (state) => {
    const inventory = new TestInventory(segment + 3 * page);
    if (state === "made") {
      await readList(inventory.cache);
    }
    const parts = await readAcross(inventory, () => inventory.change(BigInt(segment) * 10n, 8n));
    expect(Buffer.concat(parts).toString()).toBe(inventory.listAt(0n));
    await expectExact(inventory);
  });

  it("stays as it was when a later list has made its pages anew", async () => {
    const inventory = new TestInventory(segment + 3 * page);
    const parts = await readAcross(inventory, async () => {
      inventory.change(BigInt(segment) * 10n, 8n);
      await readList(inventory.cache);
    });
    expect(Buffer.concat(parts).toString()).toBe(inventory.listAt(0n));
    await expectExact(inventory);
  });

  it("reads for itself the pages alone that have changed", async () => {
    const inventory = new TestInventory(segment + 3 * page);
    await readList(inventory.cache);
    const { reads } = inventory;
    const parts = await readAcross(inventory, () => inventory.change(BigInt(segment) * 10n, 8n));
    expect(parts.length).toBeGreaterThan(2);
    expect(inventory.reads).toBe(reads + 1);
  });

  it("finds new segments together with a list at another revision", async () => {
    const inventory = new TestInventory(3 * page + 1, 1);
    inventory.afterRead = async () => {
      await setImmediate();
    };
    const early = await inventory.cache.list();
    inventory.change(0n, 1n);
    const late = await inventory.cache.list();
    const lists = await Promise.all([early, late].map(({ body }) => segmentsOf(body)));
    expect(lists.map((parts) => Buffer.concat(parts).toString())).toEqual([inventory.listAt(0n), inventory.listAt(1n)]);
    await expectExact(inventory);
  });

  it("goes on in order when all is dropped on the way", async () => {
    const inventory = new TestInventory(segment + page);
    const parts = await readAcross(inventory, async () => {
      inventory.import([BigInt(segment) * 10n + 1n], 8n);
      await readList(inventory.cache);
    });
    expect(Buffer.concat(parts).toString()).toBe(inventory.listAt(0n));
  });
});

type Operation = { readonly changed: bigint } | { readonly imported: readonly bigint[] } | "list" | "pause";

const operations = fc.array(
  fc.oneof<fc.Arbitrary<Operation>[]>(
    fc.bigInt(0n, 15_000n).map((changed) => ({ changed })),
    fc.array(fc.bigInt(-5n, 16_000n), { maxLength: 3 }).map((imported) => ({ imported })),
    fc.constant("list" as const),
    fc.constant("pause" as const),
  ),
  { maxLength: 30 },
);

it.each([1, 2, 128])("is the stock at its revision, whatever happens meanwhile: %i pages a segment", async (pages) => {
  await fc.assert(
    fc.asyncProperty(operations, async (history) => {
      const inventory = new TestInventory(1_300, pages);
      // What is read is some turns old before it is used, so that all else may happen meanwhile.
      inventory.afterRead = async () => {
        await setImmediate();
        await setImmediate();
      };
      const lists: Promise<void>[] = [];
      let quantity = 0n;
      for (const operation of history) {
        quantity += 1n;
        if (operation === "list") {
          lists.push(expectExact(inventory));
        } else if (operation === "pause") {
          await setImmediate();
        } else if ("imported" in operation) {
          inventory.import(operation.imported, quantity);
        } else if (inventory.stock.has((operation.changed / 10n) * 10n)) {
          inventory.change((operation.changed / 10n) * 10n, quantity);
        }
      }
      await Promise.all(lists);
      await expectExact(inventory);
    }),
    { numRuns: 60 },
  );
});
