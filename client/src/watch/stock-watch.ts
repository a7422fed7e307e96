import type { StockChange, WatchStockChangesRequest } from "../gen/api.ts";

/** Called as a connection comes and goes. What one of these throws ends the watch with that error. */
export interface ConnectionEvents {
  /** Called when the service has answered, each time. */
  onOpen?: (() => void) | undefined;
  /**
   * Called when the connection is lost, and each time that an attempt to connect fails. The next attempt follows by
   * itself. The error says why, and `codeOf` and `reasonOf` read it.
   */
  onLost?: ((error: unknown) => void) | undefined;
}

/** Which changes to watch, and for how long. */
export interface StockWatchOptions extends WatchStockChangesRequest, ConnectionEvents {
  /** Ends the watch when it aborts: it fails with `canceled`. */
  signal?: AbortSignal | undefined;
  /** Further headers of each request. */
  headers?: Headers | [string, string][] | Record<string, string> | undefined;
}

/**
 * The changes of the stock, as they are made. It connects with the first `next()`. Leaving the loop, or `return()`, ends
 * it and its connection, also while a `next()` waits.
 */
export interface StockWatch {
  /**
   * How far the watch has come: all changes up to here that it selects have been yielded. Keep it, and a later watch
   * goes on `after` it. It also advances while no change is selected. Undefined before the first message, unless
   * `after` was given.
   */
  readonly cursor: string | undefined;
  next(): Promise<IteratorResult<StockChange, undefined>>;
  return(): Promise<IteratorResult<StockChange, undefined>>;
  [Symbol.asyncIterator](): StockWatch;
}
