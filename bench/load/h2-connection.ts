import type { Socket } from "node:net";
import { encodeFrame, encodePreface, frameFlag, frameHeadBytes, frameType } from "./h2-frame.ts";
import { openSocket } from "./open-socket.ts";
import { RequestBuffer, type RequestParts } from "./request-buffer.ts";

/** What a connection needs from the generator. */
export interface CallSource extends RequestParts {
  /** Whether to start another call. */
  hasNext(): boolean;
  /** Is called when a call has ended. With a message and trailers it is a success. */
  onEnd(latencyUs: number, isSuccess: boolean): void;
}

/** More than the streams that are open at a time, so that a slot is free when it is used again. */
const slots = 1 << 12;

/**
 * A client's end of an HTTP/2 connection, as cheap as possible: it parses only frame headers, and writes once per read.
 */
export class H2Connection {
  readonly #source: CallSource;
  readonly #socket: Socket;
  readonly #sentAtMs = new Float64Array(slots);
  readonly #hasData = new Uint8Array(slots);
  readonly #requests: RequestBuffer;
  #unread: Buffer = Buffer.alloc(0);
  #nextStreamId = 1;
  #running = 0;

  /** Resolves when the last call has ended, and rejects when the connection breaks before. */
  readonly closed: Promise<void>;

  constructor(origin: string, source: CallSource, concurrency: number) {
    this.#source = source;
    this.#requests = new RequestBuffer(source);
    this.#socket = openSocket(origin, ["h2"]);
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

    if (this.#requests.isFull) {
      this.#flush();
    }
    this.#requests.add(streamId);
  }

  #flush(): void {
    const bytes = this.#requests.take();
    if (bytes.length > 0) {
      this.#socket.write(bytes);
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
