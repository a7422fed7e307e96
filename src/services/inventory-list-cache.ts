import { randomBytes } from "node:crypto";
import { findRange } from "./cache-page.ts";
import { CacheSegment, type ListSource } from "./cache-segment.ts";

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

/**
 * The JSON of the whole list of stock entries, kept ready, and the version of the list. The JSON is made when it is
 * first asked for, and holds some 45 bytes an entry from then on.
 */
export class InventoryListCache {
  readonly #source: ListSource;
  /** Tells the versions of this run from those of an earlier one. */
  readonly #run = randomBytes(6).toString("base64url");
  #changes = 0;
  #segments: CacheSegment[] = [];
  /** What stood in the place of the segments that are missing, before everything became stale. */
  #former: (Uint8Array | undefined)[] = [];
  #hits = 0;
  #misses = 0;
  #pagesMade = 0;

  constructor(source: ListSource) {
    this.#source = {
      ...source,
      read: (after, limit) => {
        this.#pagesMade += 1;
        return source.read(after, limit);
      },
    };
  }

  /**
   * The version of the list as a weak `ETag`: equal tags stand for the same list. Source: RFC 9110, 8.8.3.
   */
  get etag(): string {
    return `W/"${this.#run}-${this.#changes}"`;
  }

  get state(): ListCacheState {
    const kept = [...this.#former, ...this.#segments.map(({ lastBytes }) => lastBytes)];
    const bytes = kept.reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0);
    return { hits: this.#hits, misses: this.#misses, pagesMade: this.#pagesMade, bytes };
  }

  /**
   * The list, with every change that was marked before the call. A list of more than one segment is a stream: each
   * segment is as new as its sending, so that slow readers hold no old lists. Throws what reading the store throws.
   */
  async list(): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
    const segments = this.#segments;
    const first = this.#segment(segments, 0, undefined);
    const bytes = await this.#bytes(first);
    return first.isLast ? bytes : this.#stream(segments);
  }

  /** Notes that an entry may have changed. It takes the same time for any number of entries, to a microsecond or so. */
  markStale(petId: bigint): void {
    this.#segments[findRange(this.#segments, petId)]?.markStale(petId);
    this.#changes += 1;
  }

  /**
   * Notes that any entries may have changed, and new ones may have come: everything is read again. Lists that are being
   * sent go on. Bytes that turn out the same keep their memory. Most often they all do, and only a key was created.
   */
  clear(): void {
    for (const [index, segment] of this.#segments.entries()) {
      segment.markAllStale();
      this.#former[index] = segment.lastBytes;
    }
    this.#segments = [];
    this.#changes += 1;
  }

  async *#stream(segments: CacheSegment[]): AsyncGenerator<Uint8Array> {
    let segment = this.#segment(segments, 0, undefined);
    yield await segment.bytes();
    for (let index = 1; !segment.isLast; index += 1) {
      segment = this.#segment(segments, index, segment.end);
      yield await this.#bytes(segment);
    }
  }

  #bytes(segment: CacheSegment): Promise<Uint8Array> {
    if (segment.isReady) {
      this.#hits += 1;
    } else {
      this.#misses += 1;
    }
    return segment.bytes();
  }

  /** A list that began before all was dropped goes on with segments of its own, which nobody keeps. */
  #segment(segments: CacheSegment[], index: number, after: bigint | undefined): CacheSegment {
    const known = segments[index];
    if (known !== undefined) {
      return known;
    }
    if (segments !== this.#segments) {
      return new CacheSegment(after, this.#source);
    }
    const segment = new CacheSegment(after, this.#source, this.#former[index]);
    segments[index] = segment;
    this.#former[index] = undefined;
    return segment;
  }
}
