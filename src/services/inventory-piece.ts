import { setImmediate } from "node:timers/promises";
import type { InventoryItem } from "../domain/inventory.ts";
import { ByteRun } from "./byte-run.ts";
import { blockLength, findRange, type InventoryBlock, type ReadInventory, readRange } from "./inventory-block.ts";

/** How many blocks a piece has: 65,536 entries in some 3 MB, which one call to the system sends. */
const maxBlocks = 128;

/** What the bytes of most pieces fit in, with entries of 56 bytes: so they are not moved as they grow. */
const usualBytes = maxBlocks * blockLength * 56;

/** How much longer than the last time the bytes may become, by some updates, without being moved. */
const spareBytes = 16 * 1024;

/** What a piece is made by. */
export interface PieceMaker {
  readonly read: ReadInventory;
  /** The JSON of one entry. */
  readonly write: (item: InventoryItem) => string;
}

/**
 * A part of the list's JSON: all pieces, one after the other, are the list. It is made of blocks when it is first asked
 * for, and kept in one run of bytes, so that sending it costs nothing but sending. An update makes one block stale,
 * which is made anew when the piece is next asked for.
 */
export class InventoryPiece {
  /** The entries of this piece have higher ids; undefined for the first piece. */
  readonly after: bigint | undefined;
  readonly #maker: PieceMaker;
  readonly #blocks: InventoryBlock[] = [];
  #areBlocksKnown = false;
  #isLast = false;
  /** As they were last made. What of them is still the same when they are made anew is kept. */
  #bytes: Uint8Array | undefined;
  /** Whether no block is stale, or missing. */
  #isReady = false;
  #capacity = usualBytes;
  /** How often an entry has changed that no block holds yet. */
  #changesAhead = 0;
  #running: Promise<Uint8Array> | undefined;
  #waiting: Promise<Uint8Array> | undefined;

  /** `former` are the bytes of the piece that stood in this one's place, if there was one. */
  constructor(after: bigint | undefined, maker: PieceMaker, former?: Uint8Array) {
    this.after = after;
    this.#maker = maker;
    this.#bytes = former;
  }

  /** Whether there is no further piece. It is known once the bytes have been made. */
  get isLast(): boolean {
    return this.#isLast;
  }

  /** The id after which the next piece begins. It is known once the bytes have been made. */
  get end(): bigint | undefined {
    return this.#blocks.at(-1)?.last ?? this.after;
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
   * each block. One run at a time makes them: who comes while it is under way waits for the next one, since its reads
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
    const block = this.#blocks[findRange(this.#blocks, petId)];
    if (block === undefined || petId > block.last) {
      this.#changesAhead += 1;
    } else {
      markBlock(block);
      this.#isReady = false;
    }
  }

  /** Notes that any of the entries may have changed. */
  markAllStale(): void {
    this.#changesAhead += 1;
    this.#blocks.forEach(markBlock);
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
    const run = new ByteRun(this.#capacity, this.#bytes);
    const lengths: number[] = [];
    for (const block of this.#blocks) {
      lengths.push(block.bytes === undefined ? await this.#remake(block, run) : run.append(block.bytes).length);
    }
    while (!this.#areBlocksKnown) {
      lengths.push(await this.#makeNext(run));
    }
    if (this.#isLast) {
      run.append("]");
    }
    const bytes = run.bytes();
    this.#bytes = bytes;
    this.#capacity = bytes.length + spareBytes;
    if (this.#blocks.every((block) => block.bytes !== undefined)) {
      this.#share(bytes, lengths);
    }
    return bytes;
  }

  /** Returns how many bytes the block has. */
  async #remake(block: InventoryBlock, run: ByteRun): Promise<number> {
    const { changes } = block;
    const bytes = run.append(this.#write(block.after, await readRange(this.#maker.read, block)));
    if (changes === block.changes) {
      block.bytes = bytes;
    }
    await setImmediate();
    return bytes.length;
  }

  /** Makes the first block that is not known yet. Returns how many bytes it has. */
  async #makeNext(run: ByteRun): Promise<number> {
    const after = this.end;
    const changes = this.#changesAhead;
    const items = await this.#maker.read(after, blockLength);
    const bytes = run.append(this.#write(after, items));
    const last = items.at(-1)?.petId;
    if (last !== undefined) {
      this.#blocks.push({ after, last, bytes: changes === this.#changesAhead ? bytes : undefined, changes: 0 });
    }
    this.#isLast = items.length < blockLength;
    this.#areBlocksKnown = this.#isLast || this.#blocks.length === maxBlocks;
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

  /** From now on the blocks share the memory of the whole. */
  #share(bytes: Uint8Array, lengths: readonly number[]): void {
    this.#isReady = true;
    let start = 0;
    for (const [index, block] of this.#blocks.entries()) {
      const end = start + (lengths[index] ?? 0);
      block.bytes = bytes.subarray(start, end);
      start = end;
    }
  }
}

function markBlock(block: InventoryBlock): void {
  block.changes += 1;
  block.bytes = undefined;
}
