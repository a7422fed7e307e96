import { setImmediate } from "node:timers/promises";
import type { InventoryItem } from "../domain/catalog.ts";
import { ReusableBuffer } from "./reusable-buffer.ts";
import type { StockListener } from "./stock-revision.ts";

/** 65,536 entries in some 3 MB, which one system call sends. */
const usualPagesPerSegment = 128;

/** Counts and size of the cached list. */
export interface ListCacheState {
  /** How many segments were up to date when they were asked for. */
  readonly hits: number;
  readonly misses: number;
  /** How many pages were read from the store. */
  readonly pagesMade: number;
  /** The size of what is kept. */
  readonly bytes: number;
}

/** The JSON of the whole list, with all changes up to a revision and none after it. */
interface ListState {
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  readonly revision: bigint;
}

/**
 * The JSON of the whole list of stock entries, kept ready. The first call makes it. From then on it takes some 45 bytes
 * for each entry.
 */
export class InventoryListCache implements StockListener {
  readonly #source: ListSource;
  /** The cache has been told of all changes up to this revision. */
  #revision = -1n;
  #segments: CacheSegment[] = [];
  /** The bytes of former segments, which `allChanged` has dropped, by index. A new segment reuses its former bytes. */
  #former: (Uint8Array | undefined)[] = [];
  #hits = 0;
  #misses = 0;
  #pagesMade = 0;

  /** Only tests give `pagesPerSegment`. */
  constructor(source: Omit<ListSource, "pagesPerSegment">, pagesPerSegment = usualPagesPerSegment) {
    this.#source = {
      ...source,
      pagesPerSegment,
      read: (range) => {
        this.#pagesMade += 1;
        return source.read(range);
      },
    };
  }

  get state(): ListCacheState {
    const kept = [...this.#former, ...this.#segments.map(({ lastBytes }) => lastBytes)];
    const bytes = kept.reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0);
    return { hits: this.#hits, misses: this.#misses, pagesMade: this.#pagesMade, bytes };
  }

  /**
   * The list, with every change that the cache was told of before the call. A list of more than one segment is a
   * stream: a slow reader keeps only the segment in memory that is being sent. Throws what reading the store throws.
   */
  async list(): Promise<ListState> {
    const segments = this.#segments;
    const first = this.#use(segments, 0, undefined);
    const state = await first.latest();
    return { body: first.isLast ? state.bytes : this.#stream(segments, first, state), revision: state.revision };
  }

  /** Takes two binary searches, so it is quick for any number of entries. */
  changed(petId: bigint, revision: bigint): void {
    this.#revision = revision;
    this.#segments[findRange(this.#segments, petId)]?.markStale(petId, revision);
  }

  /**
   * Drops all segments. Lists that are being sent go on. Bytes that turn out the same keep their memory, because others
   * have mostly changed a few entries only.
   */
  allChanged(revision: bigint): void {
    for (const [index, segment] of this.#segments.entries()) {
      segment.retire(this.#revision);
      this.#former[index] = segment.lastBytes;
    }
    this.#segments = [];
    this.#revision = revision;
  }

  async *#stream(
    segments: CacheSegment[],
    first: CacheSegment,
    { bytes, revision }: SegmentState,
  ): AsyncGenerator<Uint8Array> {
    yield bytes;
    let segment = first;
    for (let index = 1; !segment.isLast; index += 1) {
      segment = this.#use(segments, index, segment.end);
      yield* segment.at(revision);
    }
  }

  #use(segments: CacheSegment[], index: number, after: bigint | undefined): CacheSegment {
    const segment = this.#segment(segments, index, after);
    if (segment.isReady) {
      this.#hits += 1;
    } else {
      this.#misses += 1;
    }
    return segment;
  }

  /** A list that began before `allChanged` goes on with segments of its own, which are not kept. */
  #segment(segments: CacheSegment[], index: number, after: bigint | undefined): CacheSegment {
    const present = () => this.#revision;
    const known = segments[index];
    if (known !== undefined) {
      return known;
    }
    if (segments !== this.#segments) {
      return new CacheSegment(after, this.#source, present);
    }
    const segment = new CacheSegment(after, this.#source, present, this.#former[index]);
    segments[index] = segment;
    this.#former[index] = undefined;
    return segment;
  }
}

/** Most entries take no more bytes than this. A segment of this capacity is seldom copied as it grows. */
const usualEntryBytes = 56;

/** How many bytes some updates may add before the segment is copied. */
const spareBytes = 16 * 1024;

/** Reads and writes the entries of a list. */
interface ListSource {
  readonly read: ReadInventory;
  /** The JSON of one entry. */
  readonly write: (item: InventoryItem) => string;
  readonly pagesPerSegment: number;
}

/** The JSON of a segment at a revision. */
interface SegmentState {
  readonly bytes: Uint8Array;
  readonly revision: bigint;
}

/** A run that makes a segment at a revision. */
interface SegmentRun extends Pick<SegmentState, "revision"> {
  readonly making: Promise<SegmentState>;
}

/** Appends bytes, or text in UTF-8. Returns the appended bytes. */
type Append = (part: string | Uint8Array) => Uint8Array;

/**
 * A part of the list's JSON. All segments in order are the list. A segment is made of pages on first use, and kept in
 * one buffer, so that it can be sent as it is. A change makes one page stale, which is made again on the next use.
 */
class CacheSegment {
  /** The entries of this segment have higher ids; undefined for the first segment. */
  readonly after: bigint | undefined;
  readonly #source: ListSource;
  readonly #pages: CachePage[] = [];
  readonly #present: () => bigint;
  #retiredAt: bigint | undefined;
  #arePagesKnown = false;
  #isLast = false;
  /** The bytes as they were last made. They are reused as far as they stay the same. */
  #bytes: Uint8Array | undefined;
  /** The bytes are up to date from this revision on; undefined while they are out of date. */
  #readySince: bigint | undefined;
  #capacity: number;
  /** The entries beyond the last page have not changed after this revision. */
  #changedAheadAt: bigint;
  #running: SegmentRun | undefined;
  #waiting: Promise<SegmentState> | undefined;

  /**
   * `present` returns the last revision that the cache was told of, in whatever segment its change is. `former` are the
   * bytes of the segment that this one replaces.
   */
  constructor(after: bigint | undefined, source: ListSource, present: () => bigint, former?: Uint8Array) {
    this.after = after;
    this.#source = source;
    this.#present = present;
    this.#changedAheadAt = present();
    this.#bytes = former;
    this.#capacity = source.pagesPerSegment * pageLength * usualEntryBytes;
  }

  /** Whether this is the last segment. It is known once the segment has been made. */
  get isLast(): boolean {
    return this.#isLast;
  }

  /** The id after which the next segment begins. It is known once the segment has been made. */
  get end(): bigint | undefined {
    return this.#pages.at(-1)?.last ?? this.after;
  }

  /** Whether the bytes are up to date. */
  get isReady(): boolean {
    return this.#readySince !== undefined;
  }

  /** The bytes as they were last made, which may be out of date. */
  get lastBytes(): Uint8Array | undefined {
    return this.#bytes;
  }

  /** The last revision at which this segment can be made. */
  get #revision(): bigint {
    return this.#retiredAt ?? this.#present();
  }

  /**
   * The segment with every change that the cache was told of before the call. Other work goes on after each page. There
   * is one run at a time. A caller that comes during a run for an earlier revision waits for the next run.
   */
  async latest(): Promise<SegmentState> {
    const revision = this.#revision;
    const ready = this.#readyAt(revision);
    if (ready !== undefined) {
      return { bytes: ready, revision };
    }
    if (this.#running?.revision === revision) {
      return await this.#running.making;
    }
    this.#waiting ??= this.#makeAfter(this.#running?.making);
    return await this.#waiting;
  }

  /** The segment at a revision, in pieces. Pages that have changed since are made for this reader alone. */
  async *at(revision: bigint): AsyncGenerator<Uint8Array> {
    const latest = revision === this.#revision ? await this.latest() : undefined;
    const bytes = latest?.revision === revision ? latest.bytes : this.#readyAt(revision);
    if (bytes !== undefined) {
      yield bytes;
      return;
    }
    const pieces = this.#pieces(revision, (part) => (typeof part === "string" ? Buffer.from(part) : part));
    for await (const piece of pieces) {
      if (piece.length > 0) {
        yield piece;
      }
    }
  }

  /** Notes that a revision has changed an entry. */
  markStale(petId: bigint, revision: bigint): void {
    const page = this.#pages[findRange(this.#pages, petId)];
    if (page === undefined || petId > page.last) {
      this.#changedAheadAt = revision;
    } else {
      page.changedAt = revision;
      page.bytes = undefined;
      this.#readySince = undefined;
    }
  }

  /** Notes that the segment is not told of changes after a revision. It can still be made at that revision. */
  retire(revision: bigint): void {
    this.#retiredAt = revision;
  }

  #readyAt(revision: bigint): Uint8Array | undefined {
    return this.#readySince !== undefined && this.#readySince <= revision ? this.#bytes : undefined;
  }

  async #makeAfter(earlier: Promise<unknown> | undefined): Promise<SegmentState> {
    await earlier?.catch(() => {});
    this.#waiting = undefined;
    const revision = this.#revision;
    const ready = this.#readyAt(revision);
    if (ready !== undefined) {
      return { bytes: ready, revision };
    }
    const run = { revision, making: this.#make(revision) };
    this.#running = run;
    try {
      return await run.making;
    } finally {
      if (this.#running === run) {
        this.#running = undefined;
      }
    }
  }

  async #make(revision: bigint): Promise<SegmentState> {
    const run = new ReusableBuffer(this.#capacity, this.#bytes);
    const lengths: number[] = [];
    for await (const piece of this.#pieces(revision, (part) => run.append(part))) {
      lengths.push(piece.length);
    }
    const bytes = run.bytes();
    this.#bytes = bytes;
    this.#capacity = bytes.length + spareBytes;
    if (this.#pages.every((page) => page.bytes !== undefined && page.changedAt <= revision)) {
      this.#share(bytes, lengths);
    }
    return { bytes, revision };
  }

  /** The bytes of each page at a revision, and the list's closing bracket after the last one. */
  async *#pieces(revision: bigint, append: Append): AsyncGenerator<Uint8Array> {
    for (let index = 0; index < this.#pages.length || !this.#arePagesKnown; index += 1) {
      const page = this.#pages[index];
      if (page?.bytes !== undefined && page.changedAt <= revision) {
        yield append(page.bytes);
      } else {
        yield page === undefined ? await this.#makeNext(revision, append) : await this.#remake(page, revision, append);
        await setImmediate();
      }
    }
    if (this.#isLast) {
      yield append("]");
    }
  }

  async #remake(page: CachePage, revision: bigint, append: Append): Promise<Uint8Array> {
    const bytes = append(this.#write(page.after, await readRange(this.#source.read, page, revision)));
    if (page.changedAt <= revision) {
      page.bytes = bytes;
    }
    return bytes;
  }

  /**
   * Makes the page after the last one. Where several readers do so at once, they make the same page, and one is kept.
   */
  async #makeNext(revision: bigint, append: Append): Promise<Uint8Array> {
    const after = this.end;
    const items = await this.#source.read({ after, limit: pageLength, asOf: revision });
    const bytes = append(this.#write(after, items));
    if (this.end === after && !this.#arePagesKnown) {
      this.#addPage(after, items, { bytes, revision });
    }
    return bytes;
  }

  #addPage(after: bigint | undefined, items: readonly InventoryItem[], { bytes, revision }: SegmentState): void {
    const last = items.at(-1)?.petId;
    if (last !== undefined) {
      const isStale = this.#changedAheadAt > revision;
      const changedAt = isStale ? this.#changedAheadAt : revision;
      this.#pages.push({ after, last, bytes: isStale ? undefined : bytes, changedAt });
    }
    this.#isLast = items.length < pageLength;
    this.#arePagesKnown = this.#isLast || this.#pages.length === this.#source.pagesPerSegment;
  }

  /** Each entry has a comma before it. In the first page the list's opening bracket replaces the first comma. */
  #write(after: bigint | undefined, items: readonly InventoryItem[]): string {
    let text = "";
    for (const item of items) {
      text += `,${this.#source.write(item)}`;
    }
    return after === undefined ? `[${text.slice(1)}` : text;
  }

  /** Lets the pages share the memory of the segment. */
  #share(bytes: Uint8Array, lengths: readonly number[]): void {
    let start = 0;
    let since = -1n;
    for (const [index, page] of this.#pages.entries()) {
      const end = start + (lengths[index] ?? 0);
      page.bytes = bytes.subarray(start, end);
      start = end;
      since = page.changedAt > since ? page.changedAt : since;
    }
    this.#readySince = since;
  }
}

/** How many entries a page holds. It takes a millisecond or two to read and write them. */
const pageLength = 512;

/** Selects entries: those with an id above `after`, at most `limit`, as they were at the revision `asOf`. */
export interface EntryRange {
  readonly after: bigint | undefined;
  readonly limit: number;
  readonly asOf: bigint;
}

/** Reads entries by ascending id. */
type ReadInventory = (range: EntryRange) => Promise<readonly InventoryItem[]>;

/** The JSON of the entries in a range of ids. */
interface CachePage {
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
async function readRange(read: ReadInventory, { after, last }: CachePage, asOf: bigint): Promise<InventoryItem[]> {
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
function findRange(ranges: readonly { readonly after: bigint | undefined }[], id: bigint): number {
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
