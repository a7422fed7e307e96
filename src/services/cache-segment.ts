import { setImmediate } from "node:timers/promises";
import type { InventoryItem } from "../domain/pet.ts";
import { type CachePage, findRange, pageLength, type ReadInventory, readRange } from "./cache-page.ts";
import { ReusableBuffer } from "./reusable-buffer.ts";

/** How many pages a segment has: 65,536 entries in some 3 MB, which one system call sends. */
const maxPages = 128;

/** The size of the first buffer, with entries of 56 bytes: most segments fit in, and are not copied as they grow. */
const usualBytes = maxPages * pageLength * 56;

/** How many bytes some updates may add before the segment is copied. */
const spareBytes = 16 * 1024;

/** Reads and writes the entries of a list. */
export interface ListSource {
  readonly read: ReadInventory;
  /** The JSON of one entry. */
  readonly write: (item: InventoryItem) => string;
}

/**
 * A part of the list's JSON. All segments in order are the list. A segment is made of pages on first use, and kept in
 * one buffer, so that it can be sent as it is. An update makes one page stale, which is made again on the next use.
 */
export class CacheSegment {
  /** The entries of this segment have higher ids; undefined for the first segment. */
  readonly after: bigint | undefined;
  readonly #maker: ListSource;
  readonly #pages: CachePage[] = [];
  #arePagesKnown = false;
  #isLast = false;
  /** The bytes as they were last made. They are reused as far as they stay the same. */
  #bytes: Uint8Array | undefined;
  /** Whether every page is up to date. */
  #isReady = false;
  #capacity = usualBytes;
  /** How many changes there were to entries that no page holds yet. */
  #changesAhead = 0;
  #running: Promise<Uint8Array> | undefined;
  #waiting: Promise<Uint8Array> | undefined;

  /** `former` are the bytes of the segment that this one replaces. */
  constructor(after: bigint | undefined, maker: ListSource, former?: Uint8Array) {
    this.after = after;
    this.#maker = maker;
    this.#bytes = former;
  }

  /** Whether this is the last segment. It is known once the bytes have been made. */
  get isLast(): boolean {
    return this.#isLast;
  }

  /** The id after which the next segment begins. It is known once the bytes have been made. */
  get end(): bigint | undefined {
    return this.#pages.at(-1)?.last ?? this.after;
  }

  /** Whether the bytes are up to date. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** The bytes as they were last made, which may be out of date. */
  get lastBytes(): Uint8Array | undefined {
    return this.#bytes;
  }

  /**
   * The bytes, with every change that was marked before the call. Other work goes on after each page. There is one run
   * at a time. A caller that comes during a run waits for the next one, because the reads of this run may be too old.
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

  /** Notes that any entry may have changed. */
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

  /** Makes the next page. Returns how many bytes it has. */
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

  /** The list's bracket replaces its first comma. */
  #write(after: bigint | undefined, items: readonly InventoryItem[]): string {
    let text = "";
    for (const item of items) {
      text += `,${this.#maker.write(item)}`;
    }
    return after === undefined ? `[${text.slice(1)}` : text;
  }

  /** Lets the pages share the memory of the segment. */
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
