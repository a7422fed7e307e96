import { randomBytes } from "node:crypto";
import { bodyTooLarge, type IncomingBody, readBody, whole } from "./body.ts";
import type { ClientAddress } from "./client-address.ts";
import { HeaderList } from "./header-list.ts";
import { ProtocolError } from "./protocol-error.ts";
import { isAuthority, parseTarget } from "./target.ts";

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
  /** Names and values in turn. Names are in lower case. Values have no spaces around them, unless there is a fault. */
  readonly rawHeaders: readonly string[];
  /** What is wrong with it, if that is for a later answer to say. */
  readonly fault: ProtocolError | undefined;
  /** `:authority`, which HTTP/1.1 does not have. */
  readonly authority: string | undefined;
  readonly isEncrypted: boolean;
  readonly peerAddress: string;
}

/** The answer to a request. */
export interface Answer {
  readonly status: number;
  readonly header: Headers;
  /** Not sent to HEAD, but its length is. A stream is pulled no faster than the client reads. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly trailer?: Headers;
}

/** Whether a body comes in pieces. */
export function isStream(body: Answer["body"]): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && Symbol.asyncIterator in body;
}

/** The length of a body, in bytes; 0 for none. */
export function byteLength(body: string | Uint8Array | undefined): number {
  return body === undefined ? 0 : Buffer.byteLength(body);
}

/**
 * Yields a body in small pieces, so that a large one is written no faster than the client reads. `nextBytes` tells how
 * large the next piece may be.
 */
export async function* inPieces(body: Answer["body"], nextBytes: () => number): AsyncGenerator<Uint8Array> {
  for await (const bytes of chunks(body)) {
    let start = 0;
    while (start < bytes.length) {
      const piece = bytes.subarray(start, start + nextBytes());
      start += piece.length;
      yield piece;
    }
  }
}

/** Yields a body as it comes. */
async function* chunks(body: Answer["body"]): AsyncGenerator<Uint8Array> {
  if (isStream(body)) {
    yield* body;
  } else if (body !== undefined) {
    yield typeof body === "string" ? Buffer.from(body) : body;
  }
}

/**
 * One HTTP request and its answer, over HTTP/1.1 or HTTP/2.
 *
 * Every protocol works on it, and does not know the version of HTTP.
 */
export abstract class Exchange {
  abstract readonly httpVersion: "1.1" | "2";
  /** The request method, in upper case. */
  readonly method: string;
  /** The request path, exactly as sent: not decoded, not normalised, without the query. */
  readonly path: string;
  /** The query as sent, without `?`; empty when there is none. */
  readonly query: string;
  /**
   * `Host`, `:authority` or that of the absolute form, as sent; undefined when there is none. It is not validated: see
   * `authorityFault`.
   */
  readonly authority: string | undefined;
  /** What is wrong with the head; undefined for one that is right. */
  readonly fault: ProtocolError | undefined;
  /** What is learnt about the request on its way. */
  readonly record = new CallRecord();
  /** The request's body, as it comes. Over HTTP/1.1 it may wait until it is asked for: see `readBody`. */
  readonly incoming: IncomingBody;
  readonly #head: RequestHead;
  readonly #options: ExchangeOptions;
  #requestId: string | undefined;
  #requestHeader: Headers | undefined;
  #abort: AbortController | undefined;
  #addedHeaders: string[] | undefined;

  constructor(head: RequestHead, incoming: IncomingBody, options: ExchangeOptions) {
    const { path, query, authority } = parseTarget(head.target);
    this.method = head.method;
    this.fault = head.fault;
    this.path = path;
    this.query = query;
    this.#head = head;
    this.incoming = incoming;
    const host = this.header("host");
    // The absolute form overrides a `Host` that is valid, and excuses none. Source: RFC 9112, sections 3.2 and 3.2.2
    const isOverridden = authority !== undefined && host !== undefined && isAuthority(host);
    this.authority = isOverridden ? authority : (head.authority ?? host);
    this.#options = options;
  }

  /** Whether the client has gone away, so that nobody would get an answer. */
  abstract readonly isAbandoned: boolean;

  /**
   * Sends the answer, and resolves when the system has it. A client that has gone away is not an error. A body that
   * fails half-way resets the connection, so that no client takes it for complete.
   *
   * Rejects for an answer that cannot be written, such as one with a header that HTTP does not allow.
   */
  abstract respond(answer: Answer): Promise<void>;

  /** Ends the exchange without an answer, or with half of one. */
  abstract abort(): void;

  /** Asks for the body, where the client waits for that before it sends it. */
  protected abstract askForBody(): void;
  /** Calls `listener` when the client goes away before the answer is complete, or now if it has. */
  protected abstract onAbandoned(listener: () => void): void;

  /** The scheme by which the client reached us. */
  get scheme(): "http" | "https" {
    const isForwarded = this.#options.clientAddress.isTrusted(this.#head.peerAddress);
    const isHttps = this.#head.isEncrypted || (isForwarded && this.header("x-forwarded-proto") === "https");
    return isHttps ? "https" : "http";
  }

  /** The client's address: the peer's, or the one that a trusted proxy names. */
  get clientAddress(): string {
    return this.#options.clientAddress.resolve(this.#head.peerAddress, this.headerLines("x-forwarded-for"));
  }

  /** The id of the request, the caller's own or a new one. Every answer carries it. */
  get requestId(): string {
    this.#requestId ??= this.#options.readRequestId(this.headerLines(requestIdHeader));
    return this.#requestId;
  }

  /** The size of the request's headers: of their names and values, in bytes. */
  get headerBytes(): number {
    let bytes = 0;
    for (const text of this.#head.rawHeaders) {
      bytes += text.length;
    }
    return bytes;
  }

  /** All request headers. Repeated ones are joined by `, `. */
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

  /** Aborts when the client goes away before the answer is complete. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      this.onAbandoned(() => this.#abort?.abort(new ProtocolError("canceled", "The client has gone away.")));
    }
    return this.#abort.signal;
  }

  /** One request header, by its lower-case name; repeated ones are joined by `, `. */
  header(name: Lowercase<string>): string | undefined {
    const raw = this.#head.rawHeaders;
    let joined: string | undefined;
    for (let i = 0; i < raw.length; i += 2) {
      if (raw[i] === name) {
        const line = raw[i + 1] as string;
        joined = joined === undefined ? line : `${joined}, ${line}`;
      }
    }
    return joined;
  }

  /** The lines of one request header, by its lower-case name, in the order in which they were sent. */
  headerLines(name: Lowercase<string>): readonly string[] {
    const raw = this.#head.rawHeaders;
    const lines: string[] = [];
    for (let i = 0; i < raw.length; i += 2) {
      if (raw[i] === name) {
        lines.push(raw[i + 1] as string);
      }
    }
    return lines;
  }

  /**
   * Reads the whole request body; an empty array when there is none. Framing may add `framingBytes` to `maxBytes`,
   * which is the size that errors tell.
   *
   * Throws a `ProtocolError`: `body_too_large` past `maxBytes` (by its Content-Length alone, or once more has come),
   * `request_timeout` when it does not arrive in time; and the reason of `deadline` once that aborts.
   */
  readBody(maxBytes: number, deadline?: AbortSignal, framingBytes = 0): Promise<Uint8Array> {
    if (Number(this.header("content-length") ?? 0) > maxBytes + framingBytes) {
      return Promise.reject(bodyTooLarge(maxBytes));
    }
    this.askForBody();
    const { requestTimeoutMs: timeoutMs } = this.#options;
    const limits = { maxBytes, framingBytes, timeoutMs, deadline, record: this.record };
    const come = this.incoming.takeWhole();
    return come === undefined ? readBody(this.incoming.stream, limits) : whole(come, limits);
  }

  /** Adds a header to the answer. */
  addHeader(name: string, value: string): void {
    this.#addedHeaders ??= [];
    this.#addedHeaders.push(name, value);
  }

  /** The names and values of an answer's headers in turn, with the request id, the date and the added headers. */
  protected rawHeader(header: Headers): string[] {
    const raw = header instanceof HeaderList ? header.raw : [...header].flat();
    raw.push(requestIdHeader, this.requestId, "date", date());
    if (this.#addedHeaders !== undefined) {
      raw.push(...this.#addedHeaders);
    }
    return raw;
  }
}

/** The header with the id of a request, in requests and answers. */
export const requestIdHeader = "x-request-id";

/** An id that logs and headers can show as it is, no longer than those of proxies. */
const wellFormed = /^[A-Za-z0-9._-]{1,128}$/;

/** Distinguishes the ids of this process from those of others. */
const prefix = `${randomBytes(9).toString("base64url").replaceAll("_", ".")}-`;

let made = 0;

/** Makes an id: a random prefix for the process, and a counter. It costs a twentieth of a random id. */
export function makeRequestId(): string {
  made += 1;
  return prefix + made.toString(36);
}

/** Reads the id of a request from the lines of its header. */
export type RequestIdReader = (lines: readonly string[]) => string;

/**
 * Makes a reader that takes the caller's id where there is exactly one, of 1 to 128 letters, digits, `.`, `_` and `-`.
 * Otherwise it makes a new one; also where `isSecret` takes the id for a secret, because ids are logged.
 */
export function createRequestIdReader(isSecret: (id: string) => boolean): RequestIdReader {
  return (lines) => {
    const [line = ""] = lines;
    return lines.length === 1 && wellFormed.test(line) && !isSecret(line) ? line : makeRequestId();
  };
}

let dateText = "";
let dateMs = 0;

/** The time as HTTP writes it. It is made once a second. Source: RFC 9110, section 5.6.7 */
export function date(): string {
  const nowMs = Date.now();
  if (nowMs - dateMs >= 1_000 || nowMs < dateMs) {
    dateMs = nowMs - (nowMs % 1_000);
    dateText = new Date(nowMs).toUTCString();
  }
  return dateText;
}

/**
 * What is learnt about a call on its way. Observers read it when the call has ended. It contains no secrets.
 */
export class CallRecord {
  /** The protocol that answers, such as `rest` or `grpc`; `http` outside of any call. */
  protocol = "http";
  /** The RPC as `package.Service/Method`, or one name for all pages; undefined for any other request. */
  method: string | undefined = undefined;
  /** `OK`, or the code of the error. */
  code = "OK";
  /** Whether it is a stream, which lasts for as long as its client likes. */
  isStream = false;
  /** Whether the server has ended the stream because it stops. */
  isStopped = false;
  /** The id of the caller's key, if there is a valid one. */
  caller: string | undefined = undefined;
  /** The HTTP status; 0 until there is an answer. */
  status = 0;
  /** Whether the whole answer has been handed to the system. */
  isWhole = false;
  /** Whether its deadline passed while the body was still arriving. */
  isBodyLate = false;
  /** The size of the request body as it arrived, in bytes. */
  requestBytes = 0;
  /** The size of the response body, in bytes. */
  responseBytes = 0;
  /**
   * When the head of the request had arrived, by `performance.now()`. For a request that waited for others of its
   * connection, when its turn came.
   */
  readonly startedAtMs = performance.now();
  /** How long it took, in milliseconds; 0 until it has ended. */
  durationMs = 0;
}
