import type { Readable, Writable } from "node:stream";
import { type BodyLimits, bodyTooLarge, readBody } from "./body.ts";
import type { ClientAddress } from "./client-address.ts";
import { type Answer, CallRecord, type Exchange, type RequestIdReader, requestIdHeader } from "./exchange.ts";
import { HeaderList } from "./header-list.ts";
import { ProtocolError } from "./protocol-error.ts";
import { parseTarget } from "./target.ts";

/** What an exchange needs to know of the server. */
export interface ExchangeOptions {
  readonly clientAddress: ClientAddress;
  readonly readRequestId: RequestIdReader;
  /** How long a request body may take to arrive, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/** The head of a request over either version of HTTP. */
export interface RequestHead {
  readonly method: string;
  readonly target: string;
  /** Names and values in turn, as sent. */
  readonly rawHeaders: readonly string[];
  /** `:authority`, which HTTP/1.1 does not have. */
  readonly authority: string | undefined;
  readonly isEncrypted: boolean;
  readonly peerAddress: string;
}

/** What the exchanges of both versions of HTTP share: the request's head and body. */
export abstract class BaseExchange implements Exchange {
  abstract readonly httpVersion: "1.1" | "2";
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly authority: string | undefined;
  readonly record = new CallRecord();
  readonly #head: RequestHead;
  readonly #options: ExchangeOptions;
  #requestId: string | undefined;
  #requestHeader: Headers | undefined;
  #abort: AbortController | undefined;
  readonly #addedHeaders: string[] = [];

  constructor(head: RequestHead, options: ExchangeOptions) {
    const target = parseTarget(head.target);
    this.method = head.method;
    this.path = target.path;
    this.query = target.query;
    this.#head = head;
    this.authority = target.authority ?? head.authority ?? this.header("host");
    this.#options = options;
  }

  /** The request's body. */
  protected abstract readonly body: Readable;
  /** Called before the body is read. */
  protected abstract startBody(): void;
  /** Calls `listener` when the client goes away before the answer is complete, or now if it has. */
  protected abstract onAbandoned(listener: () => void): void;
  abstract readonly isAbandoned: boolean;
  abstract respond(answer: Answer): Promise<void>;
  abstract abort(): void;

  get scheme(): "http" | "https" {
    const isForwarded = this.#options.clientAddress.isTrusted(this.#head.peerAddress);
    const isHttps = this.#head.isEncrypted || (isForwarded && this.header("x-forwarded-proto") === "https");
    return isHttps ? "https" : "http";
  }

  get clientAddress(): string {
    return this.#options.clientAddress.resolve(this.#head.peerAddress, this.headerLines("x-forwarded-for"));
  }

  get requestId(): string {
    this.#requestId ??= this.#options.readRequestId(this.headerLines(requestIdHeader));
    return this.#requestId;
  }

  get headerBytes(): number {
    let bytes = 0;
    for (const text of this.#head.rawHeaders) {
      bytes += text.length;
    }
    return bytes;
  }

  get requestHeader(): Headers {
    if (this.#requestHeader === undefined) {
      const raw = this.#head.rawHeaders;
      this.#requestHeader = new Headers();
      for (let i = 0; i < raw.length; i += 2) {
        const name = raw[i] as string;
        if (!name.startsWith(":")) {
          this.#requestHeader.append(name, raw[i + 1] as string);
        }
      }
    }
    return this.#requestHeader;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      this.onAbandoned(() => this.#abort?.abort(new ProtocolError("canceled", "The client has gone away.")));
    }
    return this.#abort.signal;
  }

  header(name: string): string | undefined {
    const lines = this.headerLines(name);
    return lines.length < 2 ? lines[0] : lines.join(", ");
  }

  headerLines(name: string): readonly string[] {
    return headerLines(this.#head.rawHeaders, name);
  }

  readBody(maxBytes: number, deadline?: AbortSignal, framingBytes = 0): Promise<Uint8Array> {
    if (Number(this.header("content-length") ?? 0) > maxBytes + framingBytes) {
      return Promise.reject(bodyTooLarge(maxBytes));
    }
    const limits: BodyLimits = {
      maxBytes,
      framingBytes,
      timeoutMs: this.#options.requestTimeoutMs,
      deadline,
      record: this.record,
    };
    this.startBody();
    return readBody(this.body, limits);
  }

  addHeader(name: string, value: string): void {
    this.#addedHeaders.push(name, value);
  }

  /** Notes that an answer has been written at once. */
  protected noteSent(bytes: number): void {
    this.record.responseBytes = bytes;
    this.record.isWhole = true;
  }

  /** Notes how an answer in pieces has ended. */
  protected noteStreamed(bytes: number, target: Writable): void {
    this.record.responseBytes = bytes;
    this.record.isWhole = target.writableFinished;
  }

  /** The names and values of an answer's headers in turn, with the request id and the added headers. */
  protected rawHeader(header: Headers): string[] {
    const raw = header instanceof HeaderList ? header.raw : [...header].flat();
    raw.push(requestIdHeader, this.requestId, ...this.#addedHeaders);
    return raw;
  }
}

/**
 * The lines of one request header, by its lower-case name, without the spaces around them. `raw` has names and values in
 * turn, as sent. Source: RFC 9110, 5.5
 */
export function headerLines(raw: readonly string[], name: string): readonly string[] {
  const lines: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    if ((raw[i] as string).length === name.length && (raw[i] as string).toLowerCase() === name) {
      lines.push((raw[i + 1] as string).trim());
    }
  }
  return lines;
}
