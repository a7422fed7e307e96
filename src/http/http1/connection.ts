import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { IncomingBody, withoutRest } from "../body.ts";
import type { Exchange, ExchangeOptions } from "../exchange.ts";
import {
  fragmentedBody,
  headersTooLarge,
  malformedRequest,
  type ProtocolError,
  requestTimeout,
} from "../protocol-error.ts";
import { SocketOutput } from "../socket-output.ts";
import { BodyDecoder, BodyFault } from "./body-decoder.ts";
import { Http1Exchange } from "./exchange.ts";
import { type Http1Head, parseHead } from "./request-head.ts";

/**
 * How many requests of one connection are handled at the same time, so that other connections get their turn. A request
 * that is not safe is handled alone, because what it changes must not depend on those beside it.
 * Source: RFC 9112, section 9.3.2
 */
const maxBegun = 8;

/** How many answers a connection may owe. At this number, nothing more is read from it. */
const maxOwed = 32;

/** The largest head of a request, in bytes. */
const maxHeadBytes = 16 * 1024;

/** How much of a body may wait to be read, in bytes. */
const maxBodyBytes = 64 * 1024;

/** How long a connection may be silent between requests, in seconds. */
const idleSeconds = 65;

/**
 * How long a client may take to read one write to its socket, in seconds: a piece of a body, which has 256 KiB, or up to
 * 1 MiB if the client has read fast before. Node does not report progress within a write. A connection that is held back
 * is closed after the same time without a write.
 */
const stalledSeconds = 120;

/** How a server answers the requests of its connections. */
export interface Http1Options extends ExchangeOptions {
  /**
   * Is called with each request when its turn has come. What could not be read comes last, as a request with an empty
   * method, whose `fault` says why.
   */
  readonly handleExchange: (exchange: Exchange) => void;
  /**
   * Is called once for each of these requests, when its answer is complete or given up. The requests that it held back
   * have begun by then.
   */
  readonly onRequestEnded: () => void;
}

/**
 * The server's side of a connection over HTTP/1.1.
 * Source: https://www.rfc-editor.org/rfc/rfc9112
 *
 * It holds back clients that pipeline: they send requests before they have received the earlier answers.
 */
export class Http1Connection {
  readonly output: SocketOutput;
  readonly peerAddress: string;
  readonly isEncrypted: boolean;
  readonly #socket: Socket;
  readonly #options: Http1Options;
  /** The requests whose answers are owed, in order. */
  readonly #owed: Http1Exchange[] = [];
  #begunCount = 0;
  /** The received bytes that are not parsed yet. */
  #rest: Buffer | undefined;
  /** The request whose body is being received. */
  #receiving: Http1Exchange | undefined;
  #decoder: BodyDecoder | undefined;
  /** How many received bytes of that body nobody has read yet. */
  #unreadBytes = 0;
  #isParsing = false;
  /** Whether no further request is taken. */
  #isReadEnded = false;
  /** Whether the client has ended its side of the connection. */
  #isClientEnded = false;
  #isEnding = false;
  #isClosed = false;
  #hasAsked = false;
  /** How many seconds the connection has waited for the rest of a head, for a request, or for its client to read. */
  #waitedSeconds: number;
  #bytesWritten = 0;
  #onDrained: (() => void) | undefined;

  /** The client has had `waitedMs` of its time for the first head. */
  constructor(socket: Socket, options: Http1Options, waitedMs: number) {
    this.#waitedSeconds = Math.floor(waitedMs / 1_000);
    this.peerAddress = socket.remoteAddress ?? "";
    this.isEncrypted = (socket as TLSSocket).encrypted === true;
    this.output = new SocketOutput(socket);
    this.#socket = socket;
    this.#options = options;
    socket.on("data", this.#read);
    socket.on("end", () => this.#endReading());
    socket.on("drain", () => {
      this.#tellDrained();
      this.#resume();
    });
    socket.on("close", () => this.#abandon());
  }

  /** Whether this is the request whose answer is due. */
  isNext(exchange: Http1Exchange): boolean {
    return this.#owed[0] === exchange;
  }

  /** Whether this is the last request: none waits behind it, and no further one is taken. */
  isLast(exchange: Http1Exchange): boolean {
    return (this.#isEnding || this.#isReadEnded) && this.#owed.at(-1) === exchange;
  }

  /**
   * Takes no further request: `Connection: close` tells the client that it would get no answer.
   * Source: RFC 9112, section 9.6
   */
  takeNoMore(): void {
    this.#isReadEnded = true;
  }

  /** Ends the connection after the last owed answer, which tells the client to send no further requests. */
  close(): void {
    this.#isEnding = true;
    if (this.#owed.length === 0 && this.#rest === undefined) {
      this.#isReadEnded = true;
      this.output.flushAll();
      this.#socket.destroySoon();
    }
  }

  /** Ends the connection as soon as all that was given to the socket has been sent. */
  end(): void {
    this.#socket.destroySoon();
  }

  /** Closes the connection at once: after an incomplete message, nobody can tell where the next one begins. */
  abort(): void {
    this.#socket.destroy();
  }

  /** Asks for the body of a client that waits for `100 Continue`. */
  sendContinue(): void {
    this.output.writeLatin1("HTTP/1.1 100 Continue\r\n\r\n");
    this.output.flush();
  }

  /**
   * Resolves when the client has taken enough for more to be written, or has gone away. Only one caller may wait at a
   * time.
   */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isClosed || !this.output.isCongested) {
        resolve();
      } else {
        this.#onDrained = resolve;
      }
    });
  }

  #tellDrained(): void {
    this.#onDrained?.();
    this.#onDrained = undefined;
  }

  /** Lets more of the body arrive, because `bytes` of it have been read. */
  credit(bytes: number): void {
    this.#unreadBytes -= bytes;
    this.#resume();
  }

  /** Takes note of an answer that is complete. */
  endExchange(exchange: Http1Exchange): void {
    this.#owed.shift();
    this.#begunCount -= 1;
    this.#waitedSeconds = 0;
    if (this.#owed.length === 0 && (this.#isReadEnded || this.#isEnding)) {
      this.#isReadEnded = true;
      this.#closeBehind(exchange);
    } else {
      this.#owed[0]?.takeTurn();
      this.#beginHeld();
      this.#resume();
    }
    this.#options.onRequestEnded();
  }

  /** Closes the connection, once the client has sent the rest of its last request. */
  #closeBehind({ incoming }: Http1Exchange): void {
    this.output.flushAll();
    this.#giveUp();
    if (incoming.isEnded) {
      this.#socket.destroySoon();
    } else if (this.#receiving === undefined) {
      // Behind a fault, what comes is ignored. If nobody received it, it would reset the connection, and the answer.
      this.#socket.end();
    } else {
      incoming.stream.once("end", () => this.#socket.destroySoon());
    }
  }

  #abandon(): void {
    this.#isClosed = true;
    this.#tellDrained();
    this.#rest = undefined;
    this.#receiving?.incoming.abandon();
    this.#giveUp();
  }

  /** Gives up the owed answers. */
  #giveUp(): void {
    for (const exchange of this.#owed.splice(0)) {
      exchange.abandon();
    }
    for (; this.#begunCount > 0; this.#begunCount -= 1) {
      this.#options.onRequestEnded();
    }
  }

  // Reading

  readonly #read = (bytes: Buffer): void => {
    const isBetween = !this.#isWithinHead && this.#hasAsked;
    this.#rest = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#parse();
    if (this.#rest !== undefined) {
      this.#rest = withoutRest(this.#rest);
      // The time limit for a head starts with its first bytes. For the first head it starts with the connection.
      this.#waitedSeconds = isBetween && this.#isWithinHead ? 0 : this.#waitedSeconds;
    }
  };

  /** Whether a head has begun to arrive. A CR alone may be half of an empty line before it. */
  get #isWithinHead(): boolean {
    return this.#rest !== undefined && (this.#rest.length > 1 || this.#rest[0] !== 13);
  }

  #resume(): void {
    if (this.#socket.destroyed || this.#isParsing) {
      return;
    }
    if (this.#rest !== undefined) {
      this.#parse();
    }
    if (!this.#mayRead()) {
      return;
    }
    if (this.#isClientEnded) {
      this.#endRequests();
    } else {
      this.#socket.resume();
    }
  }

  /** Whether more may be read. Further requests wait while the client does not read its answers. */
  #mayRead(): boolean {
    if (this.#receiving !== undefined) {
      return this.#unreadBytes < maxBodyBytes;
    }
    return this.#owed.length < maxOwed && !this.output.isCongested;
  }

  /** Parses the received bytes, as far as the limits allow. */
  #parse(): void {
    this.#isParsing = true;
    try {
      while (this.#rest !== undefined && !this.#socket.destroyed && this.#mayRead()) {
        if (this.#receiving !== undefined) {
          this.#parseBody(this.#rest, this.#receiving);
        } else if (this.#isReadEnded) {
          this.#rest = undefined;
        } else if (!this.#parseHead(this.#rest)) {
          break;
        }
      }
    } catch (error) {
      if (!(error instanceof BodyFault)) {
        throw error;
      }
      this.#fail(error.isTooLarge ? headersTooLarge() : malformedRequest());
    } finally {
      this.#isParsing = false;
    }
    if (!this.#mayRead()) {
      this.#socket.pause();
    }
    this.#beginHeld();
  }

  /** Returns whether there may be more to parse. */
  #parseHead(bytes: Buffer): boolean {
    const start = afterEmptyLines(bytes);
    const end = bytes.indexOf(headEnd, start);
    if (end < 0 && (isNoMethod(bytes[start]) || hasBareLineFeed(bytes, start))) {
      this.#fail(malformedRequest());
      return false;
    }
    if ((end < 0 ? bytes.length : end) - start > maxHeadBytes) {
      this.#fail(headersTooLarge());
      return false;
    }
    if (end < 0) {
      // Drops the empty lines. Otherwise they would be kept and read again with each piece.
      this.#setRest(bytes, start);
      return false;
    }
    const head = parseHead(bytes.toString("latin1", start, end));
    if (head === undefined) {
      this.#fail(malformedRequest());
      return false;
    }
    const bodyStart = end + headEnd.length;
    const bodyEnd = bodyStart + (head.contentLength ?? Number.POSITIVE_INFINITY);
    // Most bodies arrive together with their heads.
    const whole = bodyEnd <= bytes.length ? bytes.subarray(bodyStart, bodyEnd) : undefined;
    const exchange = new Http1Exchange(this, head, new IncomingBody(this, whole), this.#options);
    if (whole === undefined) {
      this.#decoder = new BodyDecoder(head.contentLength);
      this.#receiving = exchange;
      this.#unreadBytes = 0;
    }
    this.#setRest(bytes, whole === undefined ? bodyStart : bodyEnd);
    this.#waitedSeconds = 0;
    this.#hasAsked = true;
    this.#owed.push(exchange);
    // Bytes after a request that closes the connection are not a request. Source: RFC 9112, section 9.6
    this.#isReadEnded ||= !head.isKeptAlive;
    return true;
  }

  #parseBody(bytes: Buffer, exchange: Http1Exchange): void {
    const decoder = this.#decoder as BodyDecoder;
    // The chunks of one packet are one piece: small ones are honest there.
    const chunks: Buffer[] = [];
    let end = 0;
    while (end < bytes.length && !decoder.isEnded) {
      end = decoder.read(bytes, end, (chunk) => chunks.push(chunk));
    }
    const [first] = chunks;
    if (first !== undefined) {
      const piece = chunks.length === 1 ? first : Buffer.concat(chunks);
      this.#unreadBytes += piece.length;
      if (!exchange.incoming.push(piece, decoder.isEnded)) {
        this.#fail(fragmentedBody());
        return;
      }
    }
    this.#setRest(bytes, end);
    if (decoder.isEnded) {
      this.#receiving = undefined;
      this.#waitedSeconds = 0;
      exchange.incoming.end();
    }
  }

  #setRest(bytes: Buffer, start: number): void {
    this.#rest = start < bytes.length ? bytes.subarray(start) : undefined;
  }

  #beginHeld(): void {
    const most = Math.min(this.#owed.length, maxBegun);
    while (this.#begunCount < most) {
      const exchange = this.#owed[this.#begunCount] as Http1Exchange;
      if (this.#begunCount > 0 && !(isSafe(exchange) && isSafe(this.#owed[this.#begunCount - 1] as Http1Exchange))) {
        return;
      }
      this.#begunCount += 1;
      this.#options.handleExchange(exchange);
    }
  }

  /** Handles the end of the client's side. The client may still wait for its answers. */
  #endReading(): void {
    this.#isClientEnded = true;
    this.#endStream();
    this.#resume();
  }

  /** Ends the stream of a client that has ended its side: it has usually gone away, and would keep its place. */
  #endStream(): void {
    const [exchange] = this.#owed;
    if (this.#isClientEnded && exchange?.isAnswerBegun === true && exchange.record.isStream) {
      this.#socket.destroy();
    }
  }

  /** Takes note that the client has sent its last request, and that all complete ones are parsed. */
  #endRequests(): void {
    if (this.#receiving !== undefined || (this.#rest !== undefined && !this.#isReadEnded)) {
      this.#fail(malformedRequest());
    }
    this.#isReadEnded = true;
    if (this.#owed.length === 0) {
      this.#socket.destroySoon();
    }
  }

  /** Reads no further. The fault is answered behind the complete requests that wait for their answers. */
  #fail(fault: ProtocolError): void {
    this.#isReadEnded = true;
    this.#rest = undefined;
    const broken = this.#receiving;
    this.#receiving = undefined;
    if (broken?.isAnswerBegun === true) {
      this.#socket.destroy();
      return;
    }
    // The broken request is the last one.
    const at = this.#owed.length - (broken === undefined ? 0 : 1);
    const isBrokenBegun = this.#begunCount > at;
    const head = { ...noRequest, rawHeaders: broken?.head.rawHeaders ?? [], fault };
    this.#owed[at] = new Http1Exchange(this, head, new IncomingBody(this), this.#options);
    this.#begunCount = Math.min(this.#begunCount, at);
    this.#beginHeld();
    broken?.abandon();
    if (at === 0) {
      // The answer to the broken request waits no more.
      this.#tellDrained();
    }
    if (isBrokenBegun) {
      this.#options.onRequestEnded();
    }
  }

  /** Is called once a second. */
  tick(): void {
    this.#waitedSeconds += 1;
    // A stream may have begun after the client has ended its side.
    this.#endStream();
    // While the socket is paused, Node does not report that the client has gone away.
    const isHeldBack = this.#owed.length > 0 && !this.#mayRead();
    if (this.#socket.writableLength > 0 || isHeldBack) {
      const { bytesWritten } = this.#socket;
      this.#waitedSeconds = bytesWritten === this.#bytesWritten ? this.#waitedSeconds : 0;
      this.#bytesWritten = bytesWritten;
      if (this.#waitedSeconds > stalledSeconds) {
        this.#socket.destroy();
      }
    } else if (this.#owed.length === 0 && this.#receiving === undefined && !this.#isReadEnded) {
      this.#tickIdle();
    }
  }

  #tickIdle(): void {
    if (this.#isWithinHead && this.#waitedSeconds > this.#options.requestTimeoutMs / 1_000) {
      this.#fail(requestTimeout());
    } else if (this.#waitedSeconds > (this.#hasAsked ? idleSeconds : this.#options.requestTimeoutMs / 1_000)) {
      this.#socket.destroySoon();
    }
  }
}

/** The head of what could not be read. */
const noRequest: Http1Head = {
  method: "",
  target: "*",
  version: "1.1",
  rawHeaders: [],
  contentLength: undefined,
  isExpectant: false,
  isKeptAlive: false,
};

const headEnd = Buffer.from("\r\n\r\n");

/** Whether the method of a request says that it changes nothing. Source: RFC 9110, section 9.2.1 */
function isSafe({ method }: Http1Exchange): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

/** Where the head begins, behind any empty lines. Source: RFC 9112, section 2.2 */
function afterEmptyLines(bytes: Buffer): number {
  let at = 0;
  while (bytes[at] === 13 && bytes[at + 1] === 10) {
    at += 2;
  }
  return at;
}

/** Whether no method begins with this byte. */
function isNoMethod(byte: number | undefined): boolean {
  return byte !== undefined && byte !== 13 && !/[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(byte));
}

/**
 * Whether the last line of an incomplete head is behind a line feed without a carriage return, or an empty line is. The
 * client may regard such a head as complete, and wait. Source: RFC 9112, section 2.2
 */
function hasBareLineFeed(bytes: Buffer, start: number): boolean {
  const at = bytes.lastIndexOf(10);
  return at > start && (bytes[at - 1] !== 13 || bytes[at - 2] === 10);
}
