import { Code, ConnectError } from "@connectrpc/connect";
import { reasonOf } from "../errors.ts";
import type { InventoryClient, StockChange } from "../gen/api.ts";
import { linkSignal } from "../link-signal.ts";
import type { RetryPolicy } from "../retry-policy.ts";
import type { Timing } from "../timing.ts";
import { Recovery } from "./recovery.ts";
import { StockStream } from "./stock-stream.ts";
import type { StockWatch, StockWatchOptions } from "./stock-watch.ts";

/** What a watch needs of the client. */
export interface WatchParts {
  readonly inventory: InventoryClient;
  readonly policy: RetryPolicy;
  readonly timing: Timing;
}

/** The options of a watch, and what a mirror needs besides. */
interface ReconnectingWatchOptions extends StockWatchOptions {
  /** Called with the cursor of each heartbeat. The reader is then done with all changes before it. */
  onHeartbeat?: ((cursor: string) => void) | undefined;
}

/** Follows the changes over one stream after the other, each from the cursor of the one before. */
export class ReconnectingWatch implements StockWatch {
  readonly #parts: WatchParts;
  readonly #options: ReconnectingWatchOptions;
  readonly #recovery: Recovery;
  readonly #changes: AsyncGenerator<StockChange, undefined, undefined>;
  readonly #leaving = new AbortController();
  #cursor: string | undefined;

  /** `recovery` is that of an earlier watch, which this one continues. */
  constructor(
    parts: WatchParts,
    options: ReconnectingWatchOptions,
    recovery = new Recovery({ ...parts, onLost: options.onLost }),
  ) {
    this.#parts = parts;
    this.#options = options;
    this.#recovery = recovery;
    this.#cursor = options.after;
    this.#changes = this.#follow();
  }

  get cursor(): string | undefined {
    return this.#cursor;
  }

  next(): Promise<IteratorResult<StockChange, undefined>> {
    return this.#changes.next();
  }

  /** The generator's `return()` waits for a `next()` under way, so the stream is ended first. */
  return(): Promise<IteratorResult<StockChange, undefined>> {
    this.#leaving.abort();
    return this.#changes.return(undefined);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async *#follow(): AsyncGenerator<StockChange, undefined, undefined> {
    const ending = linkSignal(this.#options.signal);
    this.#leaving.signal.addEventListener("abort", () => ending.abort());
    try {
      for (;;) {
        yield* this.#followStream(ending.signal);
      }
    } catch (error) {
      if (!this.#leaving.signal.aborted) {
        throw ending.signal.aborted ? ConnectError.from(ending.signal.reason, Code.Canceled) : error;
      }
    } finally {
      ending.abort();
    }
    return undefined;
  }

  /** Ends when it is time for the next stream. Throws what ends the watch. */
  async *#followStream(signal: AbortSignal): AsyncGenerator<StockChange, void, undefined> {
    const { petId, crossing, headers, onOpen, onHeartbeat } = this.#options;
    const stream = new StockStream(this.#parts);
    try {
      for await (const { change, cursor } of stream.read(
        { after: this.#cursor, petId, crossing },
        { signal, headers, onOpen },
      )) {
        this.#recovery.succeed();
        this.#cursor = cursor;
        if (change === undefined) {
          onHeartbeat?.(cursor);
        } else {
          yield change;
        }
      }
    } catch (error) {
      await this.#recovery.waitAfter({ error, wasConnected: stream.isAnswered && isLoss(error), signal });
    }
  }
}

/** Whether an answer broke off: the service gave no reason, or said that it is unavailable. */
function isLoss(error: unknown): boolean {
  const reason = reasonOf(error);
  return reason === undefined || reason === "UNAVAILABLE";
}
