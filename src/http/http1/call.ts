import { STATUS_CODES } from "node:http";
import { date } from "../date.ts";
import { IncomingBody } from "../incoming-body.ts";
import type { Http1Connection } from "./connection.ts";
import type { Http1Head } from "./request-head.ts";

/** A request over HTTP/1.1, and its answer. Those of a connection are answered in turn. */
export class Http1Call {
  readonly connection: Http1Connection;
  readonly head: Http1Head;
  readonly body: IncomingBody;
  #isAbandoned = false;
  #isAnswerBegun = false;
  #isAnswerEnded = false;
  #isChunked = false;
  #isLast = false;
  #onClose: (() => void)[] | undefined;
  #onTurn: (() => void) | undefined;

  constructor(connection: Http1Connection, head: Http1Head) {
    this.connection = connection;
    this.head = head;
    this.body = new IncomingBody({
      credit: (bytes) => connection.credit(bytes),
      // What follows on the connection could not be told from the rest of the body.
      abort: () => connection.destroy(),
    });
  }

  /** Whether the connection has closed before the answer was complete. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** Whether the head of the answer has been given to the connection. */
  get isAnswerBegun(): boolean {
    return this.#isAnswerBegun;
  }

  /** Whether all of the answer has been given to the connection. */
  get isAnswerEnded(): boolean {
    return this.#isAnswerEnded;
  }

  /** Calls `listener` when the answer is complete, or will never be. */
  onClose(listener: () => void): void {
    this.#onClose ??= [];
    this.#onClose.push(listener);
  }

  /** Resolves when the answers before this one are complete, or the connection has closed. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isAbandoned || this.connection.isNext(this)) {
        resolve();
      } else {
        this.#onTurn = resolve;
      }
    });
  }

  /** Says that the answers before this one are complete. */
  takeTurn(): void {
    this.#onTurn?.();
    this.#onTurn = undefined;
  }

  /** Asks for a body whose client waits for that. */
  sendContinue(): void {
    this.connection.output.writeLatin1("HTTP/1.1 100 Continue\r\n\r\n");
    this.connection.output.flush();
  }

  /**
   * Writes the head of the answer. Throws, before anything is written, if a header is invalid. `bodyBytes` is undefined
   * for a body of unknown length.
   */
  respond(status: number, raw: readonly string[], bodyBytes: number | undefined): void {
    const { connection, head } = this;
    const { output } = connection;
    const fields = fieldLines(raw);
    let lines = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${fields}`;
    this.#isAnswerBegun = true;
    this.#isLast = connection.isLast(this);
    if (bodyBytes === undefined && status !== 204 && status !== 304) {
      this.#isChunked = head.version === "1.1" && head.method !== "HEAD";
      this.#isLast ||= head.version === "1.0";
      lines += head.version === "1.1" ? "transfer-encoding: chunked\r\n" : "";
    } else if (status !== 204 && status !== 304) {
      lines += `content-length: ${bodyBytes}\r\n`;
    }
    lines += this.#isLast ? "connection: close\r\n" : "connection: keep-alive\r\nkeep-alive: timeout=65\r\n";
    output.writeLatin1(`${lines}date: ${date()}\r\n\r\n`);
    output.schedule();
  }

  /** Writes all of the body, which is not empty. */
  writeWhole(body: string | Uint8Array, byteLength: number): void {
    const { output } = this.connection;
    if (typeof body === "string") {
      output.writeUtf8(body, byteLength);
    } else {
      output.writeBytes(body);
    }
  }

  /** Writes a part of the body. */
  write(bytes: Uint8Array): void {
    const { output } = this.connection;
    if (this.#isAbandoned || bytes.length === 0) {
      return;
    }
    if (this.#isChunked) {
      output.writeLatin1(`${bytes.length.toString(16)}\r\n`);
    }
    output.writeBytes(bytes);
    if (this.#isChunked) {
      output.writeLatin1("\r\n");
    }
    output.schedule();
  }

  /** Ends the answer, with a trailer or without one. */
  end(trailer: readonly string[] = []): void {
    if (this.#isAbandoned) {
      return;
    }
    if (this.#isChunked) {
      this.connection.output.writeLatin1(`0\r\n${fieldLines(trailer)}\r\n`);
    }
    this.connection.output.schedule();
    this.#isAnswerEnded = true;
    this.connection.endCall(this, this.#isLast);
    this.#tellClosed();
  }

  /** Says that the connection has closed. */
  abandon(): void {
    this.#isAbandoned = true;
    this.body.abandon();
    this.takeTurn();
    this.#tellClosed();
  }

  #tellClosed(): void {
    for (const listener of this.#onClose ?? []) {
      listener();
    }
    this.#onClose = undefined;
  }
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const badValue = /[^\t\x20-\x7e\x80-\xff]/;

/** The names that have been found valid. Answers have few. */
const validNames = new Set<string>();
const maxValidNames = 1_000;

/** Names and values in turn as lines. Throws for what would be no line, or several. */
function fieldLines(raw: readonly string[]): string {
  let lines = "";
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string;
    const value = raw[i + 1] as string;
    if (!isValidName(name) || badValue.test(value)) {
      throw new TypeError(`The header ${JSON.stringify(name)} or its value cannot be written.`);
    }
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

function isValidName(name: string): boolean {
  if (validNames.has(name)) {
    return true;
  }
  const isValid = token.test(name);
  if (isValid && validNames.size < maxValidNames) {
    validNames.add(name);
  }
  return isValid;
}
