import type { InventoryItem } from "../../src/domain/pet.ts";
import { InventoryListCache } from "../../src/services/inventory-list-cache.ts";

/** A plain map of stock, and pages over it. */
export interface TestInventory {
  readonly stock: Map<bigint, bigint>;
  readonly cache: InventoryListCache;
  /** Reads so far. */
  reads: number;
  /** Waited for after each read, before what was read is given back. */
  afterRead: () => Promise<void> | void;
}

/** Makes pages over as many entries, with the ids 0, 10, 20 and so on. */
export function createInventory(count: number): TestInventory {
  const stock = new Map(Array.from({ length: count }, (_, index) => [BigInt(index) * 10n, 0n]));
  // Entries are never taken away, so that their number tells whether there are new ones.
  let ids: bigint[] = [];
  const inventory: TestInventory = {
    stock,
    reads: 0,
    afterRead: () => {},
    cache: new InventoryListCache({
      write,
      read: async (after, limit) => {
        inventory.reads += 1;
        ids = ids.length === stock.size ? ids : sortedIds(stock);
        const start = after === undefined ? 0 : ids.findIndex((id) => id > after);
        const items = start < 0 ? [] : ids.slice(start, start + limit).map((id) => itemOf(stock, id));
        await inventory.afterRead();
        return items;
      },
    }),
  };
  return inventory;
}

/** What the list of this stock is. */
export function listOf(stock: ReadonlyMap<bigint, bigint>): string {
  const items = sortedIds(stock).map((id) => itemOf(stock, id));
  return `[${items.map(write).join(",")}]`;
}

/** The list as the pages give it, to its end. */
export async function readList(cache: InventoryListCache): Promise<string> {
  return Buffer.concat(await readSegments(cache)).toString();
}

/** The segments of the list, as they are sent. */
export async function readSegments(cache: InventoryListCache): Promise<Uint8Array[]> {
  const body = await cache.list();
  return body instanceof Uint8Array ? [body] : await Array.fromAsync(body as AsyncIterable<Uint8Array>);
}

function sortedIds(stock: ReadonlyMap<bigint, bigint>): bigint[] {
  return [...stock.keys()].sort((a, b) => (a < b ? -1 : 1));
}

function itemOf(stock: ReadonlyMap<bigint, bigint>, petId: bigint): InventoryItem {
  return { petId, quantity: stock.get(petId) as bigint, status: "available" };
}

function write({ petId, quantity }: InventoryItem): string {
  return `{"petId":${petId},"quantity":${quantity}}`;
}
