import { Readable } from "node:stream";
import { ByteCollector, withoutRest } from "./byte-collector.ts";

/** Where a body comes from. */
export interface BodySource {
  /** The reader has taken so many bytes of a body that has not ended: as many more may come. */
  credit(bytes: number): void;
  /** The reader wants no more of a body that has not ended. */
  abort(): void;
}

/** The body of a request, as it comes. Most have come when they are asked for, and need no stream. */
export class IncomingBody {
  readonly #source: BodySource;
  /** All of it, if it has come in one piece. */
  #whole: Buffer | undefined;
  /** What has come in pieces, and is not read yet. */
  #unread: ByteCollector | undefined;
  #pieces = 0;
  #bytes = 0;
  #isEnded: boolean;
  #isAbandoned = false;
  #stream: BodyStream | undefined;

  /** `whole` is the body, if all of it has come. */
  constructor(source: BodySource, whole?: Buffer) {
    this.#source = source;
    this.#whole = whole;
    this.#bytes = whole?.length ?? 0;
    this.#isEnded = whole !== undefined;
  }

  /** Whether all of it has come. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether the rest will not come. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** How many bytes have come. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds what has come. Returns whether it comes in pieces of a sensible size. `isLast` says that nothing follows. */
  push(piece: Buffer, isLast: boolean): boolean {
    this.#pieces += 1;
    this.#bytes += piece.length;
    if (this.#stream !== undefined) {
      this.#stream.feed(withoutRest(piece));
    } else if (isLast && this.#unread === undefined) {
      this.#whole = piece;
    } else {
      this.#unread ??= new ByteCollector();
      this.#unread.add(piece);
    }
    if (isLast) {
      this.end();
    }
    return !isOverFragmented(this.#pieces, this.#bytes);
  }

  /** Says that nothing more comes; again, it does nothing. */
  end(): void {
    if (!this.#isEnded) {
      this.#isEnded = true;
      this.#stream?.push(null);
    }
  }

  /** Says that the rest will not come. */
  abandon(): void {
    if (!this.#isEnded) {
      this.#isAbandoned = true;
      this.#unread = undefined;
      this.#stream?.destroy();
    }
  }

  /** Takes all of it, if all has come and nobody has begun to read it. */
  takeWhole(): Buffer | undefined {
    return this.#isEnded && this.#stream === undefined ? this.#takeUnread() : undefined;
  }

  /** The body as a stream, to be read as it comes. */
  get stream(): Readable {
    if (this.#stream === undefined) {
      this.#stream = new BodyStream(this, this.#source);
      const unread = this.#takeUnread();
      if (unread.length > 0) {
        this.#stream.feed(unread);
      }
      if (this.#isEnded) {
        this.#stream.push(null);
      } else if (this.#isAbandoned) {
        this.#stream.destroy();
      }
    }
    return this.#stream;
  }

  #takeUnread(): Buffer {
    const unread = this.#whole ?? this.#unread?.take() ?? noBytes;
    this.#whole = undefined;
    return unread;
  }
}

const noBytes: Buffer = Buffer.alloc(0);

class BodyStream extends Readable {
  readonly #body: IncomingBody;
  readonly #source: BodySource;
  /** How many bytes have come for which there was no room. */
  #uncredited = 0;

  constructor(body: IncomingBody, source: BodySource) {
    super();
    this.#body = body;
    this.#source = source;
  }

  feed(piece: Buffer): void {
    this.#uncredited += piece.length;
    if (this.push(piece)) {
      this.#credit();
    }
  }

  override _read(): void {
    this.#credit();
  }

  /** Of a body that has ended nothing more comes, and its source may have gone on to the next one. */
  #credit(): void {
    const bytes = this.#uncredited;
    this.#uncredited = 0;
    if (bytes > 0 && !this.#body.isEnded) {
      this.#source.credit(bytes);
    }
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#body.isEnded && !this.#body.isAbandoned) {
      this.#source.abort();
    }
    callback(error);
  }
}

/** How many pieces any body may have. */
const freePieces = 1024;

/** How many bytes earn a body one piece more: fewer than the smallest packets of the Internet hold. */
const bytesPerPiece = 512;

/** Whether a body comes in so many small pieces that it must be an attack. A piece takes as much time as a packet. */
function isOverFragmented(pieces: number, bytes: number): boolean {
  return pieces > freePieces + bytes / bytesPerPiece;
}
