import { randomBytes } from "node:crypto";

/**
 * One HTTP request and its answer, over HTTP/1.1 or HTTP/2.
 *
 * Every protocol works on it, and does not know the version of HTTP.
 */
export interface Exchange {
  /** The request method, in upper case. */
  readonly method: string;
  /** The request path, exactly as sent: not decoded, not normalised, without the query. */
  readonly path: string;
  /** The query as sent, without `?`; empty when there is none. */
  readonly query: string;
  readonly httpVersion: "1.1" | "2";
  /** The scheme by which the client reached us. */
  readonly scheme: "http" | "https";
  /** `Host` or `:authority`, as sent; undefined when there is none. It is not validated: see `authorityFault`. */
  readonly authority: string | undefined;
  /** The client's address: the peer's, or the one that a trusted proxy names. */
  readonly clientAddress: string;
  /** The id of the request, the caller's own or a new one. Every answer carries it. */
  readonly requestId: string;
  /** What is learnt about the request on its way. */
  readonly record: CallRecord;
  /** The size of the request's headers: of their names and values, in bytes. */
  readonly headerBytes: number;
  /** All request headers. Repeated ones are joined by `, `. */
  readonly requestHeader: Headers;
  /** Aborts when the client goes away before the answer is complete. */
  readonly signal: AbortSignal;
  /** Whether the client has gone away, so that nobody would get an answer. */
  readonly isAbandoned: boolean;

  /** One request header, by its lower-case name; repeated ones are joined by `, `. */
  header(name: string): string | undefined;
  /** The lines of one request header, by its lower-case name, in the order in which they were sent. */
  headerLines(name: string): readonly string[];

  /**
   * Reads the whole request body; an empty array when there is none. Framing may add `framingBytes` to `maxBytes`,
   * which is the size that errors tell.
   *
   * Throws a `ProtocolError`: `body_too_large` past `maxBytes` (by its Content-Length alone, or once more has come),
   * `request_timeout` when it does not arrive in time; and the reason of `deadline` once that aborts.
   */
  readBody(maxBytes: number, deadline?: AbortSignal, framingBytes?: number): Promise<Uint8Array>;

  /** Adds a header to the answer. */
  addHeader(name: string, value: string): void;

  /**
   * Sends the answer, and resolves when the system has it. A client that has gone away is not an error. A body that
   * fails half-way resets the connection, so that no client takes it for complete.
   *
   * Rejects for an answer that cannot be written, such as one with a header that HTTP does not allow.
   */
  respond(answer: Answer): Promise<void>;

  /** Ends the exchange without an answer, or with half of one. */
  abort(): void;
}

/** The answer to a request. */
export interface Answer {
  readonly status: number;
  readonly header: Headers;
  /** Not sent to HEAD, but its length is. A stream is pulled no faster than the client reads. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly trailer?: Headers;
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
