import { setImmediate } from "node:timers/promises";
import type { InventoryItem } from "../domain/inventory.ts";
import { type CachePage, findRange, pageLength, type ReadInventory, readRange } from "./cache-page.ts";
import { ReusableBuffer } from "./reusable-buffer.ts";

/** How many pages a segment has: 65,536 entries in some 3 MB, which one call to the system sends. */
const maxPages = 128;

/** What the bytes of most segments fit in, with entries of 56 bytes: so they are not moved as they grow. */
const usualBytes = maxPages * pageLength * 56;

/** How much longer than the last time the bytes may become, by some updates, without being moved. */
const spareBytes = 16 * 1024;

/** What a segment is made by. */
export interface ListSource {
  readonly read: ReadInventory;
  /** The JSON of one entry. */
  readonly write: (item: InventoryItem) => string;
}

/**
 * A part of the list's JSON: all segments, one after the other, are the list. It is made of pages when it is first asked
 * for, and kept in one run of bytes, so that sending it costs nothing but sending. An update makes one page stale,
 * which is made anew when the segment is next asked for.
 */
export class CacheSegment {
  /** The entries of this segment have higher ids; undefined for the first segment. */
  readonly after: bigint | undefined;
  readonly #maker: ListSource;
  readonly #pages: CachePage[] = [];
  #arePagesKnown = false;
  #isLast = false;
  /** As they were last made. What of them is still the same when they are made anew is kept. */
  #bytes: Uint8Array | undefined;
  /** Whether no page is stale, or missing. */
  #isReady = false;
  #capacity = usualBytes;
  /** How often an entry has changed that no page holds yet. */
  #changesAhead = 0;
  #running: Promise<Uint8Array> | undefined;
  #waiting: Promise<Uint8Array> | undefined;

  /** `former` are the bytes of the segment that stood in this one's place, if there was one. */
  constructor(after: bigint | undefined, maker: ListSource, former?: Uint8Array) {
    this.after = after;
    this.#maker = maker;
    this.#bytes = former;
  }

  /** Whether there is no further segment. It is known once the bytes have been made. */
  get isLast(): boolean {
    return this.#isLast;
  }

  /** The id after which the next segment begins. It is known once the bytes have been made. */
  get end(): bigint | undefined {
    return this.#pages.at(-1)?.last ?? this.after;
  }

  /** Whether the bytes stand ready. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** The bytes as they were last made, which may be out of date. */
  get lastBytes(): Uint8Array | undefined {
    return this.#bytes;
  }

  /**
   * The bytes, in which every change is seen that was marked before the call. Making them gives way to other work after
   * each page. One run at a time makes them: who comes while it is under way waits for the next one, since its reads
   * may be older than what the caller has to see.
   */
  async bytes(): Promise<Uint8Array> {
    if (this.#readyBytes !== undefined) {
      return this.#readyBytes;
    }
    this.#waiting ??= this.#makeAfter(this.#running);
    return this.#waiting;
  }

  get #readyBytes(): Uint8Array | undefined {
    return this.#isReady ? this.#bytes : undefined;
  }

  /** Notes that an entry has changed. */
  markStale(petId: bigint): void {
    const page = this.#pages[findRange(this.#pages, petId)];
    if (page === undefined || petId > page.last) {
      this.#changesAhead += 1;
    } else {
      markPage(page);
      this.#isReady = false;
    }
  }

  /** Notes that any of the entries may have changed. */
  markAllStale(): void {
    this.#changesAhead += 1;
    this.#pages.forEach(markPage);
    this.#isReady = false;
  }

  async #makeAfter(earlier: Promise<Uint8Array> | undefined): Promise<Uint8Array> {
    await earlier?.catch(() => {});
    const own = this.#waiting;
    this.#running = own;
    this.#waiting = undefined;
    try {
      return this.#readyBytes ?? (await this.#make());
    } finally {
      if (this.#running === own) {
        this.#running = undefined;
      }
    }
  }

  async #make(): Promise<Uint8Array> {
    const run = new ReusableBuffer(this.#capacity, this.#bytes);
    const lengths: number[] = [];
    for (const page of this.#pages) {
      lengths.push(page.bytes === undefined ? await this.#remake(page, run) : run.append(page.bytes).length);
    }
    while (!this.#arePagesKnown) {
      lengths.push(await this.#makeNext(run));
    }
    if (this.#isLast) {
      run.append("]");
    }
    const bytes = run.bytes();
    this.#bytes = bytes;
    this.#capacity = bytes.length + spareBytes;
    if (this.#pages.every((page) => page.bytes !== undefined)) {
      this.#share(bytes, lengths);
    }
    return bytes;
  }

  /** Returns how many bytes the page has. */
  async #remake(page: CachePage, run: ReusableBuffer): Promise<number> {
    const { changes } = page;
    const bytes = run.append(this.#write(page.after, await readRange(this.#maker.read, page)));
    if (changes === page.changes) {
      page.bytes = bytes;
    }
    await setImmediate();
    return bytes.length;
  }

  /** Makes the first page that is not known yet. Returns how many bytes it has. */
  async #makeNext(run: ReusableBuffer): Promise<number> {
    const after = this.end;
    const changes = this.#changesAhead;
    const items = await this.#maker.read(after, pageLength);
    const bytes = run.append(this.#write(after, items));
    const last = items.at(-1)?.petId;
    if (last !== undefined) {
      this.#pages.push({ after, last, bytes: changes === this.#changesAhead ? bytes : undefined, changes: 0 });
    }
    this.#isLast = items.length < pageLength;
    this.#arePagesKnown = this.#isLast || this.#pages.length === maxPages;
    await setImmediate();
    return bytes.length;
  }

  /** The list is opened in place of its first comma. */
  #write(after: bigint | undefined, items: readonly InventoryItem[]): string {
    let text = "";
    for (const item of items) {
      text += `,${this.#maker.write(item)}`;
    }
    return after === undefined ? `[${text.slice(1)}` : text;
  }

  /** From now on the pages share the memory of the whole. */
  #share(bytes: Uint8Array, lengths: readonly number[]): void {
    this.#isReady = true;
    let start = 0;
    for (const [index, page] of this.#pages.entries()) {
      const end = start + (lengths[index] ?? 0);
      page.bytes = bytes.subarray(start, end);
      start = end;
    }
  }
}

function markPage(page: CachePage): void {
  page.changes += 1;
  page.bytes = undefined;
}
