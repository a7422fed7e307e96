import { randomBytes } from "node:crypto";
import { bodyTooLarge, type IncomingBody, readBody } from "./body.ts";
import type { ClientAddress } from "./client-address.ts";
import type { HeaderList } from "./header-list.ts";
import { ProtocolError } from "./protocol-error.ts";
import { authorityFault, isAuthority, parseTarget } from "./target.ts";

/** What an exchange needs to know of the server. */
export interface ExchangeOptions {
  readonly clientAddress: ClientAddress;
  /** Whether the id that a client gives its request may hold a secret. Then it is not taken, because ids are logged. */
  readonly mayHoldSecret: (id: string) => boolean;
  /** How long a request body may take to arrive, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/** The head of a request over either version of HTTP. */
export interface RequestHead {
  /** Empty for what could not be read as a request. */
  readonly method: string;
  readonly target: string;
  /** Names and values in turn. Names are in lower case. Values have no spaces around them, unless there is a fault. */
  readonly rawHeaders: readonly string[];
  /** What is wrong with the head, if the answer can report it. */
  readonly fault?: ProtocolError | undefined;
  /** `:authority`, which HTTP/1.1 does not have. */
  readonly authority?: string | undefined;
}

/** The connection that a request came over. */
interface Peer {
  readonly isEncrypted: boolean;
  readonly peerAddress: string;
}

/** The answer to a request. */
export interface Answer {
  readonly status: number;
  /** It belongs to this answer alone. */
  readonly header: HeaderList;
  /** An answer to HEAD carries only its length. A stream is pulled no faster than the client reads. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly trailer?: Headers;
}

/** Whether a body comes in pieces. */
export function isStream(body: Answer["body"]): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && Symbol.asyncIterator in body;
}

/**
 * Yields a body in small pieces, so that a large one is written no faster than the client reads. Each answer keeps one
 * piece in memory at most. `nextBytes` tells how large the next piece may be.
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
 * What is recorded about a call while it is handled. Observers read it when the call has ended. It contains no secrets.
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
  /** Whether the server has ended or refused the stream because it stops. */
  isStopped = false;
  /** The id of the caller's key, if there is a valid one. */
  keyId: string | undefined = undefined;
  /** The HTTP status; 0 until there is an answer. */
  status = 0;
  /** Whether the whole answer has been given to the connection. */
  isWhole = false;
  /** Whether the answer broke off because the rest of it could not be read. Then `code` tells why. */
  isBrokenOff = false;
  /** Whether its deadline passed while the body was still arriving. */
  isBodyLate = false;
  /** The size of the request body as it arrived, in bytes. */
  requestBytes = 0;
  /** The size of the response body, in bytes. */
  responseBytes = 0;
  /**
   * When the head of the request was parsed, by `performance.now()`. Over HTTP/1.1, a request may wait for earlier ones
   * of its connection before it is parsed.
   */
  readonly startedAtMs = performance.now();
  /** How long it took, in milliseconds; 0 until it has ended. */
  durationMs = 0;
}

/**
 * One HTTP request and its answer, over HTTP/1.1 or HTTP/2.
 *
 * Every RPC protocol and the gateway use this class, and need not know the version of HTTP.
 */
export abstract class Exchange {
  abstract readonly httpVersion: "1.1" | "2";
  /** The request method, as sent. Empty for what could not be read as a request: `fault` says why. */
  readonly method: string;
  /** The request path, exactly as sent: not decoded, not normalised, without the query. */
  readonly path: string;
  /** The query as sent, without `?`; empty when there is none. */
  readonly query: string;
  /** `Host`, `:authority` or the authority of a target in absolute form, as sent; undefined when there is none. */
  readonly authority: string | undefined;
  /**
   * What is wrong with the head, the authority included; undefined if nothing is. It is thrown only when the message is
   * read, because the key and the limits are checked first. Source: docs/contract.md#order-of-checks
   */
  readonly fault: ProtocolError | undefined;
  /** What is recorded about the request while it is handled. */
  readonly record = new CallRecord();
  /** The request's body, while it arrives. A client may wait for `100 Continue` first: see `askForBody`. */
  readonly incoming: IncomingBody;
  /** The id of the request, the caller's own or a new one. Every answer carries it. */
  readonly requestId: string;
  readonly #rawHeaders: readonly string[];
  readonly #peer: Peer;
  readonly #options: ExchangeOptions;
  #requestHeader: Headers | undefined;
  #abort: AbortController | undefined;
  #addedHeaders: string[] | undefined;

  constructor(head: RequestHead, peer: Peer, incoming: IncomingBody, options: ExchangeOptions) {
    this.#rawHeaders = head.rawHeaders;
    this.#peer = peer;
    this.#options = options;
    this.incoming = incoming;
    this.method = head.method;
    const host = this.header("host");
    this.requestId = readRequestId(this.header(requestIdHeader), options.mayHoldSecret);
    const { path, query, authority } = parseTarget(head.target);
    this.path = path;
    this.query = query;
    // A target in absolute form overrides a valid `Host`. It does not excuse a missing or invalid one. Source:
    // RFC 9112, sections 3.2 and 3.2.2
    const isOverridden = authority !== undefined && host !== undefined && isAuthority(host);
    this.authority = isOverridden ? authority : (head.authority ?? host);
    this.fault = head.fault ?? authorityFault(this.authority);
  }

  /** Whether the client has gone away, so that nobody would get an answer. */
  abstract readonly isAbandoned: boolean;

  /**
   * Sends the answer, and resolves when all of it has been given to the connection. A client that has gone away is not
   * an error. A body that fails half-way resets the connection, so that no client takes it for complete.
   *
   * Rejects for an answer that cannot be written, such as one with a header that HTTP does not allow.
   */
  abstract respond(answer: Answer): Promise<void>;

  /** Ends the exchange without an answer, or with half of one. */
  abstract abort(): void;

  /** Asks for the body, if the client waits for `100 Continue` before it sends it. `readBody` does so. */
  abstract askForBody(): void;

  /** Calls `listener` when the client goes away before the answer is complete, or at once if it already has. */
  protected abstract onAbandoned(listener: () => void): void;

  /** The scheme that the client used: `https` if the connection is encrypted, or if a trusted proxy says so. */
  get scheme(): "http" | "https" {
    const isForwarded = this.#options.clientAddress.isTrusted(this.#peer.peerAddress);
    const isHttps = this.#peer.isEncrypted || (isForwarded && this.header("x-forwarded-proto") === "https");
    return isHttps ? "https" : "http";
  }

  /** The client's address: the peer's, or the one that a trusted proxy names. */
  get clientAddress(): string {
    return this.#options.clientAddress.resolve(this.#peer.peerAddress, this.header("x-forwarded-for"));
  }

  /** All request headers. Repeated ones are joined by `, `. */
  get requestHeader(): Headers {
    if (this.#requestHeader === undefined) {
      const raw = this.#rawHeaders;
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
    const raw = this.#rawHeaders;
    let joined: string | undefined;
    for (let i = 0; i < raw.length; i += 2) {
      if (raw[i] === name) {
        const line = raw[i + 1] as string;
        joined = joined === undefined ? line : `${joined}, ${line}`;
      }
    }
    return joined;
  }

  /** The lines of a request header that must be sent once, by its lower-case name, in the order of sending. */
  headerLines(name: Lowercase<string>): readonly string[] {
    const raw = this.#rawHeaders;
    const lines: string[] = [];
    for (let i = 0; i < raw.length; i += 2) {
      if (raw[i] === name) {
        lines.push(raw[i + 1] as string);
      }
    }
    return lines;
  }

  /**
   * Reads the whole request body; an empty array when there is none. The body may have `maxBytes`, and `framingBytes`
   * more for its framing. Errors name `maxBytes`.
   *
   * Rejects with a `ProtocolError`: `body_too_large` if the Content-Length or the received bytes exceed the limit,
   * `request_timeout` if the body does not arrive in time, `canceled` if the client goes away. Rejects with the reason
   * of `deadline` when that aborts.
   */
  async readBody(maxBytes: number, deadline?: AbortSignal, framingBytes = 0): Promise<Uint8Array> {
    const { incoming, record } = this;
    const arrived = incoming.takeWhole();
    record.requestBytes = arrived?.length ?? 0;
    if ((arrived?.length ?? Number(this.header("content-length") ?? 0)) > maxBytes + framingBytes) {
      throw bodyTooLarge(maxBytes);
    }
    if (arrived !== undefined) {
      // A deadline of 0 has passed before anything was read.
      deadline?.throwIfAborted();
      return arrived;
    }
    this.askForBody();
    const { requestTimeoutMs: timeoutMs } = this.#options;
    return await readBody(incoming.stream, { maxBytes, framingBytes, timeoutMs, deadline, record });
  }

  /** What is left of the time that the client has for its request, in milliseconds. */
  protected get leftMs(): number {
    return this.record.startedAtMs + this.#options.requestTimeoutMs - performance.now();
  }

  /** Adds a header to the answer. */
  addHeader(name: string, value: string): void {
    this.#addedHeaders ??= [];
    this.#addedHeaders.push(name, value);
  }

  /**
   * Adds the request id, the date and the added headers to an answer's headers. Returns all their names and values in
   * turn.
   */
  protected rawHeader({ raw }: HeaderList): string[] {
    raw.push(requestIdHeader, this.requestId, "date", httpDate());
    if (this.#addedHeaders !== undefined) {
      raw.push(...this.#addedHeaders);
    }
    return raw;
  }
}

/** The header with the id of a request, in requests and answers. */
export const requestIdHeader = "x-request-id";

/** An id that logs and headers can show unescaped. The ids of proxies are no longer. */
const wellFormedId = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Takes the caller's id if there is exactly one, of 1 to 128 letters, digits, `.`, `_` and `-`, and no secret. Repeated
 * ids are joined by `, `. Otherwise it makes a new one: a random prefix for the process, and a counter. That costs a
 * twentieth of a random id.
 */
export function readRequestId(sent: string | undefined, mayHoldSecret: ExchangeOptions["mayHoldSecret"]): string {
  if (sent !== undefined && wellFormedId.test(sent) && !mayHoldSecret(sent)) {
    return sent;
  }
  madeIds += 1;
  return idPrefix + madeIds.toString(36);
}

/** Distinguishes the ids of this process from those of others. */
const idPrefix = `${randomBytes(9).toString("base64url").replaceAll("_", ".")}-`;

let madeIds = 0;

let dateText = "";
let dateMs = 0;

/** The time in the format of HTTP. The text is made once a second. Source: RFC 9110, section 5.6.7 */
function httpDate(): string {
  const nowMs = Date.now();
  if (nowMs - dateMs >= 1_000 || nowMs < dateMs) {
    dateMs = nowMs - (nowMs % 1_000);
    dateText = new Date(nowMs).toUTCString();
  }
  return dateText;
}
