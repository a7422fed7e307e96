import type { InventoryItem } from "../domain/pet.ts";

/** How many entries a page holds. It takes a millisecond or two to read and write them. */
export const pageLength = 512;

/** Selects entries: those with an id above `after`, at most `limit`, as they were at the revision `asOf`. */
export interface EntryRange {
  readonly after: bigint | undefined;
  readonly limit: number;
  readonly asOf: bigint;
}

/** Reads entries by ascending id. */
export type ReadInventory = (range: EntryRange) => Promise<readonly InventoryItem[]>;

/** The JSON of the entries in a range of ids. */
export interface CachePage {
  /** The range begins above this id; undefined for the first one. */
  readonly after: bigint | undefined;
  /** The last id of the range. */
  readonly last: bigint;
  /**
   * The entries in JSON, each with a comma before it, as they have been from `changedAt` on. Undefined when they are out
   * of date.
   */
  bytes: Uint8Array | undefined;
  /** No entry has changed after this revision, as far as is known. */
  changedAt: bigint;
}

/** Reads the entries in a page's range at a revision. There may be more of them than when the page was made. */
export async function readRange(
  read: ReadInventory,
  { after, last }: CachePage,
  asOf: bigint,
): Promise<InventoryItem[]> {
  const items: InventoryItem[] = [];
  let end = after;
  let isLast = false;
  while (!isLast) {
    const batch = await read({ after: end, limit: pageLength, asOf });
    end = batch.at(-1)?.petId;
    items.push(...batch);
    isLast = batch.length < pageLength || end === undefined || end >= last;
  }
  return items.filter(({ petId }) => petId <= last);
}

/** The index of the last range that begins below an id; -1 when none does. The ranges are in ascending order. */
export function findRange(ranges: readonly { readonly after: bigint | undefined }[], id: bigint): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const after = ranges[middle]?.after;
    if (after === undefined || after < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}
