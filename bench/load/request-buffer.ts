import { frameFlag, frameHeadBytes, frameType } from "./h2-frame.ts";

/** The parts of a connection's requests. */
export interface RequestParts {
  /** The header blocks: of the connection's first request, and of all after it. */
  readonly blocks: { readonly first: Buffer; readonly later: Buffer };
  /** Writes the DATA payload of the next request at an offset, and returns where it ends. */
  writePayload(target: Buffer, offset: number): number;
}

const capacity = 1 << 18;

/** More than the bytes of one request. */
const requestBytes = 1024;

/** Collects requests that are sent together, each a HEADERS and a DATA frame. */
export class RequestBuffer {
  readonly #parts: RequestParts;
  readonly #bytes = Buffer.alloc(capacity);
  #end = 0;

  constructor(parts: RequestParts) {
    this.#parts = parts;
  }

  /** Whether there is no room for another request. */
  get isFull(): boolean {
    return this.#end + requestBytes > capacity;
  }

  add(streamId: number): void {
    const { first, later } = this.#parts.blocks;
    const block = streamId === 1 ? first : later;
    const blockAt = this.#end + frameHeadBytes;
    this.#bytes.set(block, blockAt);
    this.#writeHead(block.length, { type: frameType.headers, flags: frameFlag.endHeaders, streamId });

    const payloadAt = blockAt + block.length + frameHeadBytes;
    const length = this.#parts.writePayload(this.#bytes, payloadAt) - payloadAt;
    this.#writeHead(length, { type: frameType.data, flags: frameFlag.endStream, streamId });
  }

  /** Returns what has been collected, and starts again. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#end));
    this.#end = 0;
    return taken;
  }

  /** Completes a frame whose payload is already in place. */
  #writeHead(length: number, head: { type: number; flags: number; streamId: number }): void {
    const at = this.#end;
    this.#bytes.writeUIntBE(length, at, 3);
    this.#bytes[at + 3] = head.type;
    this.#bytes[at + 4] = head.flags;
    this.#bytes.writeUInt32BE(head.streamId, at + 5);
    this.#end = at + frameHeadBytes + length;
  }
}
