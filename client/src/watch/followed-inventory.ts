import { reasonOf } from "../errors.ts";
import { type InventoryClient, type InventoryItem, type StockChange, StockChangeKind } from "../gen/api.ts";
import { linkSignal } from "../link-signal.ts";
import type { InventoryMirror, InventoryMirrorOptions, RelistReason } from "./inventory-mirror.ts";
import { ReconnectingWatch, type WatchParts } from "./reconnecting-watch.ts";
import { Recovery } from "./recovery.ts";

type Entry = Readonly<InventoryItem>;

/** The stock at a cursor. */
interface ListedStock {
  readonly entries: Map<bigint, Entry>;
  readonly cursor: string;
}

/** Changes of these kinds do not change the status, and are only made to pets that already exist. */
const quantityKinds: readonly unknown[] = [StockChangeKind.SET, StockChangeKind.ADJUST, StockChangeKind.HOLD];

/** Lists the stock, and follows it from there. Rejects as `inventory.listInventory` does. */
export async function mirrorInventory(parts: WatchParts, options: InventoryMirrorOptions): Promise<InventoryMirror> {
  return new FollowedInventory(parts, options, await listStock(parts.inventory, options.signal));
}

/** Lists the stock in one piece, which is exactly the stock at its cursor. Pages may also show later changes. */
async function listStock(inventory: InventoryClient, signal: AbortSignal | undefined): Promise<ListedStock> {
  const { items, cursor } = await inventory.listInventory({}, { signal });
  const entries = items.map(({ petId, quantity, status }): [bigint, Entry] => [petId, { petId, quantity, status }]);
  return { entries: new Map(entries), cursor };
}

class FollowedInventory implements InventoryMirror {
  readonly #parts: WatchParts;
  readonly #options: InventoryMirrorOptions;
  readonly #ending: AbortController;
  readonly #recovery: Recovery;
  #entries: Map<bigint, Entry>;
  /** How far the entries have come. The watch is ahead of them while a change waits for a new list. */
  #cursor: string;
  #watch: ReconnectingWatch;
  readonly closed: Promise<void>;

  constructor(parts: WatchParts, options: InventoryMirrorOptions, { entries, cursor }: ListedStock) {
    this.#parts = parts;
    this.#options = options;
    this.#ending = linkSignal(options.signal);
    this.#recovery = new Recovery({ ...parts, onLost: options.onLost });
    this.#entries = entries;
    this.#cursor = cursor;
    this.#watch = this.#watchAfter(cursor);
    this.closed = this.#follow();
  }

  get cursor(): string {
    return this.#cursor;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(petId: bigint): Entry | undefined {
    return this.#entries.get(petId);
  }

  has(petId: bigint): boolean {
    return this.#entries.has(petId);
  }

  keys() {
    return this.#entries.keys();
  }

  values() {
    return this.#entries.values();
  }

  entries() {
    return this.#entries.entries();
  }

  [Symbol.iterator]() {
    return this.#entries[Symbol.iterator]();
  }

  forEach(visit: (entry: Entry, petId: bigint, mirror: ReadonlyMap<bigint, Entry>) => void, self?: unknown): void {
    for (const [petId, entry] of this.#entries) {
      visit.call(self, entry, petId, this);
    }
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.closed.catch(() => {});
  }

  #watchAfter(cursor: string): ReconnectingWatch {
    const onHeartbeat = (reached: string) => {
      this.#cursor = reached;
    };
    const options = { after: cursor, signal: this.#ending.signal, onOpen: this.#options.onOpen, onHeartbeat };
    return new ReconnectingWatch(this.#parts, options, this.#recovery);
  }

  async #follow(): Promise<void> {
    try {
      for (;;) {
        const reason = await this.#followUntilOutdated();
        await this.#listAnew(reason);
      }
    } catch (error) {
      if (!this.#ending.signal.aborted) {
        throw error;
      }
    } finally {
      this.#ending.abort();
    }
  }

  /** Resolves when only a new list can tell the present stock. */
  async #followUntilOutdated(): Promise<RelistReason> {
    try {
      for await (const change of this.#watch) {
        const before = this.#entries.get(change.petId);
        if (before === undefined || !quantityKinds.includes(change.kind)) {
          return "imported";
        }
        this.#set({ ...before, quantity: change.after }, change);
      }
    } catch (error) {
      if (reasonOf(error) === "CURSOR_EXPIRED") {
        return "expired";
      }
      throw error;
    }
    throw new Error("a watch ends with an error only");
  }

  #set(after: Entry, change: StockChange): void {
    const { petId } = after;
    const before = this.#entries.get(petId);
    this.#entries.set(petId, after);
    this.#cursor = change.cursor;
    this.#options.onChange?.({ petId, before, after, change });
  }

  async #listAnew(reason: RelistReason): Promise<void> {
    const { entries, cursor } = await this.#listPatiently();
    const former = this.#entries;
    this.#entries = entries;
    this.#cursor = cursor;
    this.#watch = this.#watchAfter(cursor);
    this.#options.onRelist?.(reason);
    this.#tellDifferences(former, entries);
  }

  async #listPatiently(): Promise<ListedStock> {
    const { signal } = this.#ending;
    for (;;) {
      try {
        return await listStock(this.#parts.inventory, signal);
      } catch (error) {
        await this.#recovery.waitAfter({ error, wasConnected: false, signal });
      }
    }
  }

  #tellDifferences(former: ReadonlyMap<bigint, Entry>, entries: ReadonlyMap<bigint, Entry>): void {
    const { onChange } = this.#options;
    for (const [petId, after] of entries) {
      const before = former.get(petId);
      if (before?.quantity !== after.quantity || before.status !== after.status) {
        onChange?.({ petId, before, after, change: undefined });
      }
    }
    for (const [petId, before] of former) {
      if (!entries.has(petId)) {
        onChange?.({ petId, before, after: undefined, change: undefined });
      }
    }
  }
}
