import type { InventoryItem } from "../../src/domain/catalog.ts";
import { type EntryRange, InventoryListCache } from "../../src/services/inventory-list-cache.ts";

/** A stock in memory with its history, and the list cache over it. */
export class TestInventory {
  readonly stock = new Map<bigint, bigint>();
  readonly cache: InventoryListCache;
  /** Reads so far. */
  reads = 0;
  /** Waited for after each read, before what was read is given back. */
  afterRead: () => Promise<void> | void = () => {};
  /** The quantities before each revision, from revision 1 on; undefined for a pet that is new. */
  readonly #history: { petId: bigint; before: bigint | undefined }[] = [];
  #ids: bigint[] = [];

  /** Makes as many entries, with the ids 0, 10, 20 and so on. */
  constructor(count: number, pagesPerSegment?: number) {
    for (let index = 0; index < count; index += 1) {
      this.stock.set(BigInt(index) * 10n, 0n);
    }
    this.cache = new InventoryListCache({ write, read: (range) => this.#read(range) }, pagesPerSegment);
    this.cache.allChanged(0n);
  }

  get revision(): bigint {
    return BigInt(this.#history.length);
  }

  /** Changes an entry. The cache is told at once. */
  change(petId: bigint, quantity: bigint): void {
    this.changeUntold(petId, quantity);
    this.cache.changed(petId, this.revision);
  }

  /** Changes or adds entries. The cache is told that all may have changed. */
  import(petIds: readonly bigint[], quantity: bigint): void {
    for (const petId of petIds) {
      this.changeUntold(petId, quantity);
    }
    this.cache.allChanged(this.revision);
  }

  /** Changes or adds an entry, as others do. */
  changeUntold(petId: bigint, quantity: bigint): void {
    this.#history.push({ petId, before: this.stock.get(petId) });
    this.stock.set(petId, quantity);
  }

  /** What the list was at a revision. */
  listAt(revision: bigint): string {
    return `[${this.#itemsAt(revision).map(write).join(",")}]`;
  }

  #itemsAt(revision: bigint, ids: readonly bigint[] = this.#sortedIds()): InventoryItem[] {
    const then = new Map<bigint, bigint | undefined>();
    for (let index = this.#history.length - 1; index >= Number(revision); index -= 1) {
      const { petId, before } = this.#history[index] as { petId: bigint; before: bigint | undefined };
      then.set(petId, before);
    }
    return ids.flatMap((petId) => {
      const quantity = then.has(petId) ? then.get(petId) : this.stock.get(petId);
      return quantity === undefined ? [] : [{ petId, quantity, status: "available" as const }];
    });
  }

  async #read({ after, limit, asOf }: EntryRange): Promise<InventoryItem[]> {
    this.reads += 1;
    const ids = this.#sortedIds();
    const start = after === undefined ? 0 : ids.findIndex((id) => id > after);
    // Entries that are newer than the revision take up no place.
    const items = start < 0 ? [] : this.#itemsAt(asOf, ids.slice(start, start + limit + this.#history.length));
    await this.afterRead();
    return items.slice(0, limit);
  }

  /** Entries are never taken away, so that their number tells whether there are new ones. */
  #sortedIds(): bigint[] {
    if (this.#ids.length !== this.stock.size) {
      this.#ids = [...this.stock.keys()].sort((a, b) => (a < b ? -1 : 1));
    }
    return this.#ids;
  }
}

/** The list as the cache gives it, to its end. */
export async function readList(cache: InventoryListCache): Promise<string> {
  return (await readState(cache)).list;
}

/** The list and its revision. */
export async function readState(cache: InventoryListCache): Promise<{ list: string; revision: bigint }> {
  const { revision, body } = await cache.list();
  return { list: Buffer.concat(await segmentsOf(body)).toString(), revision };
}

/** The segments of the list, as they are sent. */
export async function readSegments(cache: InventoryListCache): Promise<Uint8Array[]> {
  return segmentsOf((await cache.list()).body);
}

/** The bytes of a body, as they are sent. */
export async function segmentsOf(body: Uint8Array | AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  return body instanceof Uint8Array ? [body] : await Array.fromAsync(body);
}

function write({ petId, quantity }: InventoryItem): string {
  return `{"petId":${petId},"quantity":${quantity}}`;
}
