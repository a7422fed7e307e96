import { Readable } from "node:stream";
import { isOverFragmented } from "./body.ts";

/** Where a body comes from. */
export interface BodySource {
  /** The reader has taken so many bytes: as many more may come. */
  credit(bytes: number): void;
  /** The reader wants no more of a body that has not ended. */
  abort(): void;
}

/** The body of a request, as it comes. Most have come when they are asked for, and need no stream. */
export class IncomingBody {
  readonly #source: BodySource;
  #chunks: Buffer[] = [];
  #pieces = 0;
  #bytes = 0;
  #isEnded = false;
  #isAbandoned = false;
  #stream: BodyStream | undefined;

  /** `whole` is the body, if all of it has come. */
  constructor(source: BodySource, whole?: Buffer) {
    this.#source = source;
    if (whole !== undefined) {
      this.#chunks.push(whole);
      this.#bytes = whole.length;
      this.#isEnded = true;
    }
  }

  /** Whether all of it has come. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** How many bytes have come. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds what has come. Returns whether it comes in pieces of a sensible size. */
  push(chunk: Buffer): boolean {
    this.#pieces += 1;
    this.#bytes += chunk.length;
    if (this.#stream === undefined) {
      this.#chunks.push(chunk);
    } else {
      this.#stream.feed(chunk);
    }
    return !isOverFragmented(this.#pieces, this.#bytes);
  }

  /** Says that nothing more comes. */
  end(): void {
    this.#isEnded = true;
    this.#stream?.push(null);
  }

  /** Says that the rest will not come. */
  abandon(): void {
    if (!this.#isEnded) {
      this.#isAbandoned = true;
      this.#chunks = [];
      this.#stream?.destroy();
    }
  }

  /** Takes all of it, if all has come and nobody has begun to read it. */
  takeWhole(): Buffer | undefined {
    if (!this.#isEnded || this.#stream !== undefined) {
      return undefined;
    }
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
  }

  /** The body as a stream, to be read as it comes. */
  get stream(): Readable {
    if (this.#stream === undefined) {
      this.#stream = new BodyStream(this, this.#source);
      for (const chunk of this.#chunks) {
        this.#stream.feed(chunk);
      }
      this.#chunks = [];
      if (this.#isEnded) {
        this.#stream.push(null);
      } else if (this.#isAbandoned) {
        this.#stream.destroy();
      }
    }
    return this.#stream;
  }
}

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

  feed(chunk: Buffer): void {
    if (this.push(chunk)) {
      this.#source.credit(chunk.length);
    } else {
      this.#uncredited += chunk.length;
    }
  }

  override _read(): void {
    if (this.#uncredited > 0) {
      const bytes = this.#uncredited;
      this.#uncredited = 0;
      this.#source.credit(bytes);
    }
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#body.isEnded) {
      this.#source.abort();
    }
    callback(error);
  }
}
