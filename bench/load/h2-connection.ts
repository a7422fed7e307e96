import { connect, type Socket } from "node:net";
import { encodeFrame, encodePreface, frameFlag, frameHeadBytes, frameType } from "./h2-frame.ts";

/** What a connection asks of the generator. */
export interface CallSource {
  /** The header blocks of all requests: the first of the connection, and all after it. */
  readonly blocks: { readonly first: Buffer; readonly later: Buffer };
  /** Writes the DATA payload of the next call at an offset, and returns where it ends. */
  writePayload(target: Buffer, offset: number): number;
  /** Whether there shall be another call. */
  hasNext(): boolean;
  /** A call has ended: with a message and trailers, or in some other way. */
  onEnd(latencyUs: number, isSuccess: boolean): void;
}

/** More than the bytes of one request. */
const requestBytes = 1024;

/** Streams have ended long before as many others have begun. */
const slots = 1 << 12;

/**
 * A client's end of an HTTP/2 connection, as cheap as can be: of what comes it reads the frames' heads alone, and what
 * it has to send it sends once per read.
 */
export class H2Connection {
  readonly #source: CallSource;
  readonly #socket: Socket;
  readonly #sentAtMs = new Float64Array(slots);
  readonly #hasData = new Uint8Array(slots);
  readonly #out = Buffer.alloc(1 << 18);
  #outEnd = 0;
  #unread: Buffer = Buffer.alloc(0);
  #nextStreamId = 1;
  #running = 0;

  /** Resolves when the last call has ended, and rejects when the connection breaks before. */
  readonly closed: Promise<void>;

  constructor(origin: string, source: CallSource, concurrency: number) {
    const { hostname, port } = new URL(origin);
    this.#source = source;
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.write(encodePreface());
    this.#start(concurrency);
    this.#flush();
    this.closed = new Promise((resolve, reject) => {
      this.#socket.on("error", reject);
      this.#socket.on("close", () => (this.#running === 0 ? resolve() : reject(new Error("the server hung up"))));
    });
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  #start(calls: number): void {
    const now = performance.now();
    for (let call = 0; call < calls && this.#source.hasNext(); call += 1) {
      this.#writeRequest(now);
    }
  }

  #writeRequest(now: number): void {
    const streamId = this.#nextStreamId;
    this.#nextStreamId += 2;
    this.#running += 1;
    this.#sentAtMs[slotOf(streamId)] = now;
    this.#hasData[slotOf(streamId)] = 0;

    const { first, later } = this.#source.blocks;
    if (this.#outEnd + requestBytes > this.#out.length) {
      this.#flush();
    }
    const out = this.#out;
    const block = streamId === 1 ? first : later;
    const data = this.#writeHead(block.length, frameType.headers, frameFlag.endHeaders, streamId) + block.length;
    out.set(block, data - block.length);
    this.#outEnd = data + frameHeadBytes;
    const end = this.#source.writePayload(out, this.#outEnd);
    this.#outEnd = data;
    this.#writeHead(end - data - frameHeadBytes, frameType.data, frameFlag.endStream, streamId);
    this.#outEnd = end;
  }

  /** Returns where the payload begins. */
  #writeHead(length: number, type: number, flags: number, streamId: number): number {
    const at = this.#outEnd;
    this.#out.writeUIntBE(length, at, 3);
    this.#out[at + 3] = type;
    this.#out[at + 4] = flags;
    this.#out.writeUInt32BE(streamId, at + 5);
    return at + frameHeadBytes;
  }

  #flush(): void {
    if (this.#outEnd > 0) {
      this.#socket.write(Buffer.from(this.#out.subarray(0, this.#outEnd)));
      this.#outEnd = 0;
    }
  }

  #read(chunk: Buffer): void {
    const bytes = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    const now = performance.now();
    let at = 0;
    while (at + frameHeadBytes <= bytes.length) {
      const end = at + frameHeadBytes + bytes.readUIntBE(at, 3);
      if (end > bytes.length) {
        break;
      }
      this.#onFrame(bytes.subarray(at, end), now);
      at = end;
    }
    this.#unread = bytes.subarray(at);
    this.#flush();
    if (this.#running === 0) {
      this.#socket.end();
    }
  }

  #onFrame(frame: Buffer, now: number): void {
    const flags = frame[4] ?? 0;
    const streamId = frame.readUInt32BE(5) & 0x7fff_ffff;
    switch (frame[3] ?? 0) {
      case frameType.data:
        this.#hasData[slotOf(streamId)] = 1;
        if ((flags & frameFlag.endStream) !== 0) {
          this.#end(streamId, { now, isSuccess: false });
        }
        break;
      case frameType.headers:
        if ((flags & frameFlag.endStream) !== 0) {
          this.#end(streamId, { now, isSuccess: this.#hasData[slotOf(streamId)] === 1 });
        }
        break;
      case frameType.rstStream:
        this.#end(streamId, { now, isSuccess: false });
        break;
      case frameType.settings:
      case frameType.ping:
        this.#acknowledge(frame, flags);
        break;
      case frameType.goAway:
        this.#socket.destroy(new Error("the server sends the generator away"));
        break;
    }
  }

  #end(streamId: number, { now, isSuccess }: { now: number; isSuccess: boolean }): void {
    this.#running -= 1;
    this.#source.onEnd((now - (this.#sentAtMs[slotOf(streamId)] ?? now)) * 1000, isSuccess);
    if (this.#source.hasNext()) {
      this.#writeRequest(now);
    }
  }

  #acknowledge(frame: Buffer, flags: number): void {
    if ((flags & frameFlag.ack) === 0) {
      const type = frame[3] ?? 0;
      const payload = type === frameType.ping ? frame.subarray(frameHeadBytes) : Buffer.alloc(0);
      this.#socket.write(encodeFrame({ type, flags: frameFlag.ack, streamId: 0 }, payload));
    }
  }
}

function slotOf(streamId: number): number {
  return (streamId >> 1) % slots;
}
