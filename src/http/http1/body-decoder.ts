/** The largest size of all chunk extensions of a body, and of its trailers, in bytes. */
const maxExtensionBytes = 16 * 1024;
const maxTrailerBytes = 16 * 1024;

/** The longest chunk size, in hexadecimal digits. 13 digits stay below 4 PiB, which a double holds exactly. */
const maxSizeDigits = 13;

/** The framing of a body is malformed, or its trailers are too large. */
export class BodyFault extends Error {
  readonly isTooLarge: boolean;

  constructor(isTooLarge: boolean) {
    super(isTooLarge ? "the trailers are too large" : "the body is malformed");
    this.isTooLarge = isTooLarge;
  }
}

const cr = 13;
const lf = 10;

const State = {
  size: 0,
  extension: 1,
  sizeEnd: 2,
  data: 3,
  dataEnd: 4,
  dataEndLine: 5,
  trailers: 6,
  ended: 7,
} as const;
type State = (typeof State)[keyof typeof State];

/** Finds the content of one body, and its end. Source: https://www.rfc-editor.org/rfc/rfc9112#section-7.1 */
export class BodyDecoder {
  #state: State;
  /** How many bytes of content are left of the body, or of the present chunk. */
  #left: number;
  readonly #isChunked: boolean;
  #sizeDigits = 0;
  #extensionBytes = 0;
  #trailerBytes = 0;
  /** The trailer that is being read. */
  #line = "";

  /** `contentLength` is not 0. It is undefined for a chunked body. */
  constructor(contentLength: number | undefined) {
    this.#isChunked = contentLength === undefined;
    this.#left = contentLength ?? 0;
    this.#state = this.#isChunked ? State.size : State.data;
  }

  get isEnded(): boolean {
    return this.#state === State.ended;
  }

  /**
   * Reads on from `start`, up to the end of a piece of content or of the body. Calls `take` with the piece. Returns
   * where it has stopped. Throws a `BodyFault` if the framing is malformed, or the trailers are too large.
   */
  read(bytes: Buffer, start: number, take: (content: Buffer) => void): number {
    let at = start;
    while (at < bytes.length && this.#state !== State.ended) {
      if (this.#state === State.data) {
        const end = Math.min(bytes.length, at + this.#left);
        this.#left -= end - at;
        if (this.#left === 0) {
          this.#state = this.#isChunked ? State.dataEnd : State.ended;
        }
        take(bytes.subarray(at, end));
        return end;
      }
      this.#readFraming(bytes[at] as number);
      at += 1;
    }
    return at;
  }

  #readFraming(byte: number): void {
    switch (this.#state) {
      case State.size:
        this.#readSize(byte);
        break;
      case State.extension:
        this.#extensionBytes += 1;
        assertFraming(isInExtension(byte) && this.#extensionBytes <= maxExtensionBytes);
        this.#state = byte === cr ? State.sizeEnd : State.extension;
        break;
      case State.sizeEnd:
        assertFraming(byte === lf);
        this.#sizeDigits = 0;
        this.#state = this.#left === 0 ? State.trailers : State.data;
        break;
      case State.dataEnd:
        assertFraming(byte === cr);
        this.#state = State.dataEndLine;
        break;
      case State.dataEndLine:
        assertFraming(byte === lf);
        this.#state = State.size;
        break;
      default:
        this.#readTrailers(byte);
    }
  }

  #readSize(byte: number): void {
    const digit = hexDigit(byte);
    if (digit >= 0) {
      this.#sizeDigits += 1;
      assertFraming(this.#sizeDigits <= maxSizeDigits);
      this.#left = this.#left * 16 + digit;
      return;
    }
    assertFraming(this.#sizeDigits > 0 && (byte === cr || byte === semicolon));
    this.#state = byte === cr ? State.sizeEnd : State.extension;
  }

  /** Reads trailers, and ignores them. Refuses those that would frame a message. */
  #readTrailers(byte: number): void {
    this.#trailerBytes += 1;
    if (this.#trailerBytes > maxTrailerBytes) {
      throw new BodyFault(true);
    }
    this.#line += String.fromCharCode(byte);
    if (byte !== lf) {
      return;
    }
    if (this.#line === "\r\n") {
      this.#state = State.ended;
    } else {
      assertFraming(trailerLine.test(this.#line));
      this.#line = "";
    }
  }
}

const semicolon = 0x3b;

const trailerLine = /^(?!content-length:|transfer-encoding:)[!#$%&'*+\-.^_`|~0-9a-z]+:[\t\x20-\x7e\x80-\xff]*\r\n$/i;

/** Whether an extension may have the byte, or ends with it: of the control characters a tab and a CR. */
function isInExtension(byte: number): boolean {
  return (byte >= 0x20 && byte !== 0x7f) || byte === 0x09 || byte === cr;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) {
    return byte - 0x30;
  }
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function assertFraming(isRight: boolean): void {
  if (!isRight) {
    throw new BodyFault(false);
  }
}
