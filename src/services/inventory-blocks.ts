import type { Serialized } from "../rpc/serialized.ts";
import { findRange } from "./inventory-block.ts";
import { InventoryPiece, type PieceMaker } from "./inventory-piece.ts";

/** How the list that is kept ready does. */
export interface ListCacheState {
  /** How many pieces were asked for that stood ready. */
  readonly hits: number;
  readonly misses: number;
  /** How many blocks were read from the store. */
  readonly blocksMade: number;
  /** How much is kept. */
  readonly bytes: number;
}

/**
 * The JSON of the whole list of stock entries, kept ready. It is made when it is first asked for, and holds some 45
 * bytes an entry from then on.
 */
export class InventoryBlocks {
  readonly #maker: PieceMaker;
  #pieces: InventoryPiece[] = [];
  /** What stood in the place of the pieces that are missing, before everything became stale. */
  #former: (Uint8Array | undefined)[] = [];
  #hits = 0;
  #misses = 0;
  #blocksMade = 0;

  constructor(maker: PieceMaker) {
    this.#maker = {
      ...maker,
      read: (after, limit) => {
        this.#blocksMade += 1;
        return maker.read(after, limit);
      },
    };
  }

  get state(): ListCacheState {
    const kept = [...this.#former, ...this.#pieces.map(({ lastBytes }) => lastBytes)];
    const bytes = kept.reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0);
    return { hits: this.#hits, misses: this.#misses, blocksMade: this.#blocksMade, bytes };
  }

  /**
   * The list, in which every change is seen that was marked before the call. A list of more than one piece is a stream:
   * each piece is as new as its sending, so that slow readers hold no old lists. Throws what the reading throws.
   */
  async list(): Promise<Serialized> {
    const pieces = this.#pieces;
    const first = this.#piece(pieces, 0, undefined);
    const bytes = await this.#bytes(first);
    return { body: first.isLast ? bytes : this.#stream(pieces) };
  }

  /** Notes that an entry has changed. It takes the same time for any number of entries, within a microsecond or so. */
  markStale(petId: bigint): void {
    this.#pieces[findRange(this.#pieces, petId)]?.markStale(petId);
  }

  /**
   * Notes that any entries may have changed, and others may have come: everything is read anew. Lists that are being
   * sent go on. What turns out the same as before keeps its memory: most often it is all the same, and a key was
   * created.
   */
  clear(): void {
    for (const [index, piece] of this.#pieces.entries()) {
      piece.markAllStale();
      this.#former[index] = piece.lastBytes;
    }
    this.#pieces = [];
  }

  async *#stream(pieces: InventoryPiece[]): AsyncGenerator<Uint8Array> {
    let piece = this.#piece(pieces, 0, undefined);
    yield await piece.bytes();
    for (let index = 1; !piece.isLast; index += 1) {
      piece = this.#piece(pieces, index, piece.end);
      yield await this.#bytes(piece);
    }
  }

  #bytes(piece: InventoryPiece): Promise<Uint8Array> {
    if (piece.isReady) {
      this.#hits += 1;
    } else {
      this.#misses += 1;
    }
    return piece.bytes();
  }

  /** A list that began before all was dropped goes on with pieces of its own, which nobody keeps. */
  #piece(pieces: InventoryPiece[], index: number, after: bigint | undefined): InventoryPiece {
    const known = pieces[index];
    if (known !== undefined) {
      return known;
    }
    if (pieces !== this.#pieces) {
      return new InventoryPiece(after, this.#maker);
    }
    const piece = new InventoryPiece(after, this.#maker, this.#former[index]);
    pieces[index] = piece;
    this.#former[index] = undefined;
    return piece;
  }
}
