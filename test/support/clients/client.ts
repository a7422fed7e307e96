import type { Input, Operation, Output } from "../operations.ts";

/** A client of the API over one protocol. All protocols share this interface. */
export interface ApiClient {
  /** Calls an operation. Resolves for refusals too. Rejects for an answer that breaks the protocol. */
  call<O extends Operation>(operation: O, input: Input<O>, options?: CallOptions): Promise<Outcome<O>>;
  close(): void;
}

export interface CallOptions {
  /** The API key, sent as a bearer token. Without it, no `Authorization` is sent. */
  readonly key?: string | undefined;
  /** Further request headers, or metadata. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A message or a failure, with the headers and trailers joined. */
export interface Outcome<O extends Operation = Operation> {
  readonly message?: Output<O>;
  readonly failure?: Failure;
  readonly headers: Headers;
}

export interface Failure {
  /** The code of the API, such as `PET_NOT_FOUND`. */
  readonly code: string | undefined;
  readonly message: string;
  /** The HTTP status, over REST. */
  readonly http?: number;
  /** The body, over REST. */
  readonly body?: unknown;
  /** The canonical code, such as `not_found`, over RPC. */
  readonly canonical?: string;
  /** The domain of the `google.rpc.ErrorInfo`, over RPC. */
  readonly domain?: string | undefined;
  /** The fields that a `google.rpc.BadRequest` names, over RPC. */
  readonly fields?: readonly string[];
  /** The delay of a `google.rpc.RetryInfo`, over RPC. */
  readonly retrySeconds?: number | undefined;
}

/** Where a client finds the server. */
export interface Target {
  /** Such as `http://127.0.0.1:4711`. */
  readonly origin: string;
  /** The certificate to trust, in PEM, when the origin is `https`. */
  readonly ca?: string | undefined;
}

/** The headers of a call, its key included. */
export function requestHeaders(options: CallOptions): Record<string, string> {
  return { ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }), ...options.headers };
}
