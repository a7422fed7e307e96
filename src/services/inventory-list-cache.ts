import { CacheSegment, findRange, type ListSource, type SegmentState } from "./cache-segment.ts";
import type { StockListener } from "./stock-revision.ts";

/** 65,536 entries in some 3 MB, which one system call sends. */
const usualPagesPerSegment = 128;

/** How the list that is kept ready does. */
export interface ListCacheState {
  /** How many segments were asked for that stood ready. */
  readonly hits: number;
  readonly misses: number;
  /** How many pages were read from the store. */
  readonly pagesMade: number;
  /** How much is kept. */
  readonly bytes: number;
}

/** The JSON of the whole list, with all changes up to a revision and none after it. */
export interface ListState {
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  readonly revision: bigint;
}

/**
 * The JSON of the whole list of stock entries, kept ready. The JSON is made when it is first asked for, and holds some 45
 * bytes an entry from then on.
 */
export class InventoryListCache implements StockListener {
  readonly #source: ListSource;
  /** All changes up to this revision have been told. */
  #revision = -1n;
  #segments: CacheSegment[] = [];
  /** What stood in the place of the segments that are missing, before everything became stale. */
  #former: (Uint8Array | undefined)[] = [];
  #hits = 0;
  #misses = 0;
  #pagesMade = 0;

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
   * The list, with every change that was told before the call. A list of more than one segment is a stream: a slow
   * reader holds the segment that is being sent, and no other. Throws what reading the store throws.
   */
  async list(): Promise<ListState> {
    const segments = this.#segments;
    const first = this.#use(segments, 0, undefined);
    const state = await first.latest();
    return { body: first.isLast ? state.bytes : this.#stream(segments, first, state), revision: state.revision };
  }

  /** It takes the same time for any number of entries, to a microsecond or so. */
  changed(petId: bigint, revision: bigint): void {
    this.#revision = revision;
    this.#segments[findRange(this.#segments, petId)]?.markStale(petId, revision);
  }

  /**
   * Everything is read again. Lists that are being sent go on. Bytes that turn out the same keep their memory: most often
   * others have changed a few entries only.
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

  /** A list that began before all was dropped goes on with segments of its own, which nobody keeps. */
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
