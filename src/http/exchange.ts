import type { CallRecord } from "./call-record.ts";

/**
 * One HTTP request and its answer, over HTTP/1.1 or HTTP/2.
 *
 * It is what every protocol here stands on, so that none of them knows which version of HTTP carries it.
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
  /** `Host` or `:authority`, as sent; undefined when there is none. It is not validated: see `isAuthority`. */
  readonly authority: string | undefined;
  /** The client's address: the peer's, or the one that a trusted proxy names. */
  readonly clientAddress: string;
  /** The name of the request, the caller's own or a new one: every answer carries it. */
  readonly requestId: string;
  /** Where all who answer the request note what they learn of it. */
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
   * Reads the whole request body; an empty array when there is none. It may have `framingBytes` more than `maxBytes`,
   * which errors do not count: they tell the size of a message.
   *
   * Throws a `ProtocolError`: `body_too_large` past `maxBytes` (by its Content-Length alone, or once more has come),
   * `request_timeout` when it does not arrive in time; and the reason of `deadline` once that aborts.
   */
  readBody(maxBytes: number, deadline?: AbortSignal, framingBytes?: number): Promise<Uint8Array>;

  /** Adds a header to whatever answer will be sent. */
  addHeader(name: string, value: string): void;

  /**
   * Sends the answer, and resolves when it has been handed to the system. A client that has gone away is not an error.
   * A body that fails half-way resets the connection, so that no client takes it for whole.
   *
   * Rejects for an answer that cannot be written, such as one with a header that HTTP does not allow.
   */
  respond(answer: Answer): Promise<void>;

  /** Ends the exchange without an answer, or with half of one. */
  abort(): void;
}

/** What is sent back. */
export interface Answer {
  readonly status: number;
  readonly header: Headers;
  /** Left out of the answer to HEAD, while its length is kept. A stream is pulled no faster than the client reads. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly trailer?: Headers;
}
