import { setImmediate } from "node:timers/promises";
import type { InventoryItem } from "../domain/inventory.ts";
import type { Serialized } from "../rpc/serialized.ts";
import { blockLength, type ReadInventory } from "./inventory-block.ts";

/** Which entries to send, and how. */
export interface Selection {
  readonly read: ReadInventory;
  /** The JSON of one entry. */
  readonly write: (item: InventoryItem) => string;
  /** Only those with higher ids; undefined for all. */
  readonly after: bigint | undefined;
}

/** The JSON of a part of the inventory that nobody keeps ready. What is long is read and written as it is sent. */
export async function serializeSelected({ read, write, after }: Selection): Promise<Serialized> {
  const first = await read(after, blockLength);
  if (first.length < blockLength) {
    return { body: Buffer.from(`[${first.map(write).join(",")}]`) };
  }

  async function* writeAll(): AsyncGenerator<Uint8Array> {
    let separator = "[";
    let items = first;
    while (items.length > 0) {
      yield Buffer.from(separator + items.map(write).join(","));
      separator = ",";
      await setImmediate();
      items = items.length < blockLength ? [] : await read(items.at(-1)?.petId, blockLength);
    }
    yield Buffer.from("]");
  }
  return { body: writeAll() };
}
