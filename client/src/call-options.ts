/** Options of a single call. */
export interface CallOptions {
  /**
   * How long the call may take, in milliseconds, retries included: rounded up to a whole number, and 24 days at most.
   * Past it the call fails with `deadline_exceeded`, at once for 0 and less. Default: no limit
   */
  timeoutMs?: number | undefined;
  /** Ends the call, or its wait for a retry, when it aborts. The call fails with `canceled`. */
  signal?: AbortSignal | undefined;
  /** Further headers of the request. */
  headers?: Headers | [string, string][] | Record<string, string> | undefined;
  /** Called with the headers of a successful answer. */
  onHeader?(headers: Headers): void;
  /** Called with the trailers of a successful answer. */
  onTrailer?(trailers: Headers): void;
}
