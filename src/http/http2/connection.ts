import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { ClientBudget } from "./client-budget.ts";
import type { Field } from "./field.ts";
import { FrameOutput } from "./frame-output.ts";
import {
  assertPriority,
  ConnectionError,
  defaultFrameBytes,
  defaultWindow,
  ErrorCode,
  Flag,
  FrameParser,
  FrameType,
  maxWindow,
  Setting,
} from "./frames.ts";
import { HeaderDecoder } from "./header-decoder.ts";
import { HeaderEncoder } from "./header-encoder.ts";
import { areTrailers, maxHeaderListBytes, readRequestHead } from "./request-head.ts";
import { Http2Stream } from "./stream.ts";
import { StreamTable } from "./stream-table.ts";

/** How many streams a connection may have open at a time. Source: RFC 9113, section 6.5.2: at least 100. */
const maxStreams = 128;

/**
 * How many streams a connection may open in one turn of the event loop. None of them can be answered within that turn.
 */
const maxStreamsByTurn = 2 * maxStreams;

/**
 * How many written bytes a client may leave unread before its connection ends. DATA stops much earlier: it waits while
 * the output is congested.
 */
const maxUnsentBytes = 1024 * 1024;

/** The receive window of the connection, in bytes. It does not limit memory; the windows of the streams do. */
const receiveWindow = 1024 * 1024;

/** How long a connection may be silent, in milliseconds: as long as over HTTP/1.1. */
const idleMs = 65_000;

/**
 * How often progress is checked, in seconds. After one to two such intervals, a stalled stream is reset, and a
 * connection whose last bytes are stalled is closed.
 */
const stalledSeconds = 60;

/** How long the last bytes of a connection that has to be ended may take to be sent, in milliseconds. */
const lingerMs = 1_000;

/** Receives the events of a connection. */
export interface ConnectionHandlers {
  /** Receives each request when its head is complete. */
  readonly onStream: (stream: Http2Stream) => void;
  /** Is called once for each of these streams, when it has closed. */
  readonly onStreamClosed: () => void;
  /** Is called when a connection ends because its client opens too many streams at once. */
  readonly onBurst: (peerAddress: string) => void;
}

/** The server's side of a connection over HTTP/2. Source: https://www.rfc-editor.org/rfc/rfc9113 */
export class Http2Connection {
  readonly peerAddress: string;
  readonly isEncrypted: boolean;
  readonly #socket: Socket;
  readonly #handlers: ConnectionHandlers;
  readonly #output: FrameOutput;
  readonly #parser = new FrameParser({
    onHeaders: (stream, isLast, block) => this.#takeFields(stream, isLast, this.#decoder.decode(block)),
    onFrame: (type, flags, stream, payload, frameBytes) => this.#takeFrame(type, flags, stream, payload, frameBytes),
  });
  readonly #decoder = new HeaderDecoder(maxHeaderListBytes);
  readonly #encoder = new HeaderEncoder();
  readonly #budget = new ClientBudget();
  readonly #streams = new StreamTable();
  /** Streams that have bytes to send, and wait for room on the connection. They take turns. */
  readonly #waiting = new Set<Http2Stream>();
  #lastStream = 0;
  /** The last stream that GOAWAY names; undefined before there is a GOAWAY. */
  #lastHandled: number | undefined;
  /** The send window of the connection, and the initial send window of a stream, in bytes. */
  #sendWindow = defaultWindow;
  #streamWindow = defaultWindow;
  #receiveWindow = receiveWindow;
  /** How many seconds ago progress was last checked. */
  #seconds = 0;
  /** How many bytes were not sent yet when the end of our side was last checked for progress. */
  #unsentBytes: number | undefined;
  readonly #headTimeoutSeconds: number;
  /** For how many seconds the head that is incomplete has been so; it is the one after `#headCount` others. */
  #headSeconds = 0;
  #headCount = 0;
  #isClosing = false;
  #isEnded = false;
  /** Ends a connection whose client does not complete its preface: the fixed bytes and SETTINGS. */
  readonly #prefaceTimer: NodeJS.Timeout;

  /**
   * The client has `headTimeoutMs` to send the preface and its settings, of which `waitedMs` have passed. It has the
   * same for each head of a request.
   */
  constructor(socket: Socket, handlers: ConnectionHandlers, headTimeoutMs: number, waitedMs: number) {
    this.#headTimeoutSeconds = headTimeoutMs / 1_000;
    this.peerAddress = socket.remoteAddress ?? "";
    this.isEncrypted = (socket as TLSSocket).encrypted === true;
    this.#socket = socket;
    this.#handlers = handlers;
    this.#output = new FrameOutput(socket);
    socket.on("end", () => socket.end());
    socket.on("close", () => this.#abandon());
    socket.on("drain", () => this.#sendWaiting());
    socket.setTimeout(idleMs, () => this.close());
    this.#prefaceTimer = setTimeout(() => this.end(), headTimeoutMs - waitedMs);
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
    this.#writeSettings();
  }

  /**
   * Sends GOAWAY, so that the client opens no further streams. Ends our side of the connection when the open ones have
   * closed.
   */
  close(): void {
    if (!this.#isClosing) {
      this.#isClosing = true;
      this.#writeGoAway(ErrorCode.noError, "");
      this.#endIfClosed();
    }
  }

  /** Ends the connection with all of its streams. GOAWAY tells the client why. */
  end(code: ErrorCode = ErrorCode.noError, reason = ""): void {
    if (this.#isEnded) {
      return;
    }
    if (!this.#isClosing || code !== ErrorCode.noError) {
      this.#writeGoAway(code, reason);
    }
    this.#output.flushAll();
    this.#abandon();
    this.#socket.destroySoon();
    const timer = setTimeout(() => this.#socket.destroy(), lingerMs).unref();
    this.#socket.once("close", () => clearTimeout(timer));
  }

  /**
   * Is called once a second. Ends the connection of a head that takes too long. Every `stalledSeconds` it resets the
   * streams whose answers make no progress, and closes a connection whose last bytes make none.
   */
  tick(): void {
    this.#checkHead();
    this.#seconds += 1;
    if (this.#seconds < stalledSeconds) {
      return;
    }
    this.#seconds = 0;
    for (const stream of this.#streams.all()) {
      stream.resetIfStalled();
    }
    if (this.#socket.writableEnded) {
      this.#closeIfStalled();
    }
  }

  /**
   * Closes the connection if no more of its last bytes have been sent since the last check. If all were sent by then,
   * the client has had the time between the checks to read what the system holds.
   */
  #closeIfStalled(): void {
    const { writableLength } = this.#socket;
    if (writableLength === this.#unsentBytes) {
      this.#socket.destroy();
    }
    this.#unsentBytes = writableLength;
  }

  #checkHead(): void {
    const { isWithinHead, headCount } = this.#parser;
    this.#headSeconds = isWithinHead && headCount === this.#headCount ? this.#headSeconds + 1 : 0;
    this.#headCount = headCount;
    if (this.#headSeconds > this.#headTimeoutSeconds) {
      this.end(ErrorCode.enhanceYourCalm, "the headers take too long");
    }
  }

  /**
   * Ends our side of a closing connection that has no streams. It is read on: were the socket closed, the next bytes of
   * a client that reads slowly would reset it, and the client would lose the end of its last answer.
   */
  #endIfClosed(): void {
    if (this.#isClosing && this.#streams.openCount === 0) {
      this.#output.flushAll();
      this.#socket.end();
    }
  }

  #abandon(): void {
    this.#isEnded = true;
    clearTimeout(this.#prefaceTimer);
    this.#parser.stop();
    for (const stream of this.#streams.all()) {
      stream.close(false);
    }
  }

  #read(bytes: Buffer): void {
    try {
      this.#parser.parse(bytes);
    } catch (error) {
      if (!(error instanceof ConnectionError)) {
        throw error;
      }
      this.end(error.code, error.message);
    }
  }

  #takeFields(id: number, isLast: boolean, fields: Field[]): void {
    if (id > this.#lastStream) {
      this.#lastStream = id;
      this.#open(id, isLast, fields);
      return;
    }
    const stream = this.#streams.find(id);
    if (stream === undefined) {
      this.#assertResetByUs(id);
      this.#budget.countIdleFrame();
      return;
    }
    if (stream.incoming.isEnded) {
      this.#resetFor(stream, ErrorCode.streamClosed);
    } else {
      this.#resetFor(stream, isLast && areTrailers(fields) ? stream.endRequest() : ErrorCode.protocolError);
    }
  }

  #open(id: number, isLast: boolean, fields: Field[]): void {
    if (this.#budget.countStream() > maxStreamsByTurn) {
      this.#handlers.onBurst(this.peerAddress);
      throw new ConnectionError(ErrorCode.enhanceYourCalm, "too many streams at once");
    }
    if (this.#isClosing) {
      // The client knows from GOAWAY that the request was not handled.
      this.#budget.countIdleFrame();
      return;
    }
    if (this.#streams.openCount >= maxStreams) {
      this.#refuse(id, ErrorCode.refusedStream);
      return;
    }
    const head = readRequestHead(fields);
    if (head === undefined || (isLast && (head.contentLength ?? 0) !== 0)) {
      this.#refuse(id, ErrorCode.protocolError);
      return;
    }
    const stream = new Http2Stream(this, id, head, isLast, this.#streamWindow);
    this.#streams.add(stream);
    this.#handlers.onStream(stream);
  }

  /** Resets a new stream instead of opening it. */
  #refuse(id: number, code: ErrorCode): void {
    this.#budget.countReset();
    this.#streams.noteClosed(id, true);
    this.writeReset(id, code);
  }

  /** Resets a stream if its client broke a rule. */
  #resetFor(stream: Http2Stream, fault: ErrorCode | undefined): void {
    if (fault !== undefined) {
      this.#budget.countReset();
      stream.reset(fault);
    }
  }

  /**
   * Throws for HEADERS of a stream that is not open, unless the client may have sent them before it received our
   * RST_STREAM or GOAWAY.
   */
  #assertResetByUs(id: number): void {
    switch (this.#streams.howClosed(id)) {
      case "reset by us":
        return;
      case undefined:
        if (!this.#isClosing) {
          throw new ConnectionError(ErrorCode.protocolError, "HEADERS on a stream that is closed or was skipped");
        }
        return;
      default:
        throw new ConnectionError(ErrorCode.streamClosed, "the stream has closed");
    }
  }

  #assertOpened(id: number): void {
    if (id % 2 === 0 || id > this.#lastStream) {
      throw new ConnectionError(ErrorCode.protocolError, "the stream was never open");
    }
  }

  #takeFrame(type: number, flags: number, id: number, payload: Buffer, frameBytes: number): void {
    switch (type) {
      case FrameType.data:
        this.#takeData(flags, id, payload, frameBytes);
        break;
      case FrameType.windowUpdate:
        this.#takeWindowUpdate(id, payload);
        break;
      case FrameType.reset:
        this.#assertOpened(id);
        assertLength(payload.length === 4);
        this.#takeReset(this.#streams.find(id));
        break;
      case FrameType.settings:
        assertStreamZero(id);
        this.#takeSettings(flags, payload);
        break;
      case FrameType.ping:
        assertStreamZero(id);
        assertLength(payload.length === 8);
        this.#takePing(flags, payload);
        break;
      case FrameType.goAway:
        assertStreamZero(id);
        assertLength(payload.length >= 8);
        this.#takeGoAway();
        break;
      case FrameType.priority:
        assertPriority(id, payload);
        this.#budget.countIdleFrame();
        break;
      case FrameType.pushPromise:
        throw new ConnectionError(ErrorCode.protocolError, "a client may not push");
      default:
        this.#budget.countIdleFrame();
    }
  }

  /** The client opens no further streams. Its open ones continue. */
  #takeGoAway(): void {
    if (this.#isClosing) {
      this.#budget.countIdleFrame();
    } else {
      this.close();
    }
  }

  /** `stream` is undefined if it has closed: the client may not know it yet. */
  #takeReset(stream: Http2Stream | undefined): void {
    if (stream === undefined) {
      this.#budget.countIdleFrame();
      return;
    }
    if (!stream.isAnswerBegun) {
      this.#budget.countResetSoonAfter(stream.openedAtMs);
    }
    stream.close(false);
  }

  #takeData(flags: number, id: number, data: Buffer, frameBytes: number): void {
    this.#assertOpened(id);
    this.#receiveWindow -= frameBytes;
    if (this.#receiveWindow < 0) {
      throw new ConnectionError(ErrorCode.flowControlError, "the connection's window is exceeded");
    }
    if (this.#receiveWindow <= receiveWindow / 2) {
      this.writeWindowUpdate(0, receiveWindow - this.#receiveWindow);
      this.#receiveWindow = receiveWindow;
    }
    const isLast = (flags & Flag.endStream) !== 0;
    const stream = this.#streams.find(id);
    if (stream === undefined || (data.length === 0 && !isLast)) {
      this.#budget.countIdleFrame();
    }
    if (stream !== undefined) {
      this.#resetFor(stream, stream.receive(data, frameBytes, isLast));
    } else if (this.#streams.howClosed(id) === "by the client, or at its end") {
      throw new ConnectionError(ErrorCode.streamClosed, "the stream has closed");
    }
  }

  #takeWindowUpdate(id: number, payload: Buffer): void {
    assertLength(payload.length === 4);
    const bytes = payload.readUInt32BE(0) & maxWindow;
    const fault = bytes === 0 ? ErrorCode.protocolError : ErrorCode.flowControlError;
    if (id === 0) {
      this.#sendWindow += bytes;
      if (bytes === 0 || this.#sendWindow > maxWindow) {
        throw new ConnectionError(fault, "the connection's window cannot be so large");
      }
      this.#sendWaiting();
      return;
    }
    this.#assertOpened(id);
    const stream = this.#streams.find(id);
    if (stream !== undefined && (bytes === 0 || !stream.widen(bytes))) {
      this.#resetFor(stream, fault);
    }
  }

  #takeSettings(flags: number, payload: Buffer): void {
    const isAck = (flags & Flag.ack) !== 0;
    assertLength(isAck ? payload.length === 0 : payload.length % 6 === 0);
    if (isAck) {
      this.#budget.countIdleFrame();
      return;
    }
    clearTimeout(this.#prefaceTimer);
    this.#budget.countAck();
    // The client applies its new settings to everything that follows the acknowledgement.
    this.#writeAck(FrameType.settings, payload.subarray(0, 0));
    let streamWindow = this.#streamWindow;
    for (let at = 0; at < payload.length; at += 6) {
      const setting = payload.readUInt16BE(at);
      const value = payload.readUInt32BE(at + 2);
      if (setting === Setting.initialWindowSize) {
        assertWindow(value <= maxWindow);
        streamWindow = value;
      } else {
        this.#applySetting(setting, value);
      }
    }
    // A new initial window changes all streams. If a frame has several, only the last one is applied, but all must be
    // valid.
    this.#changeStreamWindow(streamWindow);
  }

  /** Applies a setting other than the initial window of streams. */
  #applySetting(setting: number, value: number): void {
    switch (setting) {
      case Setting.headerTableSize:
        this.#encoder.setCapacity(value);
        break;
      case Setting.enablePush:
        assertSetting(value <= 1);
        break;
      case Setting.maxFrameSize:
        assertSetting(value >= defaultFrameBytes && value <= 0xff_ffff);
        break;
      default:
    }
  }

  /**
   * Changes the send windows of open streams along with the setting. They may become negative.
   * Source: RFC 9113, section 6.9.2
   */
  #changeStreamWindow(bytes: number): void {
    if (bytes === this.#streamWindow) {
      return;
    }
    const change = bytes - this.#streamWindow;
    this.#streamWindow = bytes;
    for (const stream of this.#streams.all()) {
      assertWindow(stream.widen(change));
    }
  }

  #takePing(flags: number, payload: Buffer): void {
    if ((flags & Flag.ack) !== 0) {
      this.#budget.countIdleFrame();
    } else {
      this.#budget.countAck();
      this.#writeAck(FrameType.ping, payload);
    }
  }

  #writeAck(type: number, payload: Buffer): void {
    this.#endIfUnread();
    this.#output.begin(type, Flag.ack, 0);
    this.#output.writeBytes(payload);
    this.#output.end();
  }

  /** Ends the connection if the client leaves too much unread, so that the memory for it stays limited. */
  #endIfUnread(): void {
    if (this.#output.unsentBytes > maxUnsentBytes) {
      this.end(ErrorCode.enhanceYourCalm, "too much is left unread");
    }
  }

  /** When the turn of the event loop began in which the last stream was opened, by `performance.now()`. */
  get turnStartedAtMs(): number {
    return this.#budget.turnStartedAtMs;
  }

  /** How many bytes of a body can be sent in one frame now. */
  get sendableBytes(): number {
    return this.#output.isCongested ? 0 : Math.min(this.#sendWindow, defaultFrameBytes);
  }

  /** Whether a body can be sent now in one frame. Streams that already wait have precedence. */
  canSendAtOnce(bytes: number): boolean {
    return this.#waiting.size === 0 && bytes <= this.sendableBytes;
  }

  /** Lets the stream send more when the connection has room. */
  wait(stream: Http2Stream): void {
    this.#waiting.add(stream);
  }

  /**
   * Lets the waiting streams send one frame each in turn, while there is room. It visits only streams that can send.
   */
  #sendWaiting(): void {
    for (const stream of this.#waiting) {
      if (this.sendableBytes <= 0) {
        return;
      }
      this.#waiting.delete(stream);
      // A stream that waits for its own window is not in the set.
      if (stream.sendNext()) {
        this.#waiting.add(stream);
      }
    }
  }

  /** Throws if a field cannot be sent. */
  assertValid(raw: readonly string[]): void {
    this.#encoder.assertValid(raw);
  }

  /** Writes a header block; `status` is undefined for a trailer. The caller has checked that the fields are valid. */
  writeHeaders(id: number, flags: number, status: number | undefined, raw: readonly string[]): void {
    this.#endIfUnread();
    this.#output.begin(FrameType.headers, flags | Flag.endHeaders, id);
    this.#encoder.encode(this.#output, status, raw);
    this.#output.endHeaders(id);
  }

  /** Writes a DATA frame. The caller has checked that the connection has room for it. */
  writeData(id: number, flags: number, body: string | Uint8Array, byteLength: number): void {
    this.#sendWindow -= byteLength;
    this.#output.begin(FrameType.data, flags, id);
    if (typeof body === "string") {
      this.#output.writeUtf8(body, byteLength);
    } else {
      this.#output.writeBytes(body);
    }
    this.#output.end();
  }

  writeReset(id: number, code: ErrorCode): void {
    this.#output.begin(FrameType.reset, 0, id);
    this.#output.writeUint32(code);
    this.#output.end();
  }

  writeWindowUpdate(id: number, bytes: number): void {
    this.#output.begin(FrameType.windowUpdate, 0, id);
    this.#output.writeUint32(bytes);
    this.#output.end();
  }

  /** Drops a stream that has closed. */
  forget(stream: Http2Stream, isResetByUs: boolean): void {
    this.#streams.close(stream, isResetByUs);
    this.#waiting.delete(stream);
    this.#handlers.onStreamClosed();
    this.#endIfClosed();
  }

  #writeSettings(): void {
    this.#output.begin(FrameType.settings, 0, 0);
    this.#output.writeUint16(Setting.maxConcurrentStreams);
    this.#output.writeUint32(maxStreams);
    // Many clients obey it: a call with larger headers fails alone, and does not end the connection.
    this.#output.writeUint16(Setting.maxHeaderListSize);
    this.#output.writeUint32(maxHeaderListBytes);
    this.#output.end();
    this.writeWindowUpdate(0, receiveWindow - defaultWindow);
  }

  #writeGoAway(code: ErrorCode, reason: string): void {
    this.#lastHandled ??= this.#lastStream;
    this.#output.begin(FrameType.goAway, 0, 0);
    this.#output.writeUint32(this.#lastHandled);
    this.#output.writeUint32(code);
    this.#output.writeUtf8(reason, reason.length);
    this.#output.end();
  }
}

function assertLength(isRight: boolean): void {
  if (!isRight) {
    throw new ConnectionError(ErrorCode.frameSizeError, "a frame has a wrong length");
  }
}

function assertStreamZero(id: number): void {
  if (id !== 0) {
    throw new ConnectionError(ErrorCode.protocolError, "SETTINGS, PING and GOAWAY must be on stream 0");
  }
}

function assertSetting(isRight: boolean): void {
  if (!isRight) {
    throw new ConnectionError(ErrorCode.protocolError, "invalid value of ENABLE_PUSH or MAX_FRAME_SIZE");
  }
}

function assertWindow(isRight: boolean): void {
  if (!isRight) {
    throw new ConnectionError(ErrorCode.flowControlError, "a window cannot be so large");
  }
}
