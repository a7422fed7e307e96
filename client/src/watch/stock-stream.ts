import { Code, ConnectError } from "@connectrpc/connect";
import type { InventoryClient, WatchStockChangesRequest, WatchStockChangesResponse } from "../gen/api.ts";
import { linkSignal } from "../link-signal.ts";
import { elapsedMs, type Timing } from "../timing.ts";
import type { StockWatchOptions } from "./stock-watch.ts";

/** How long a stream may be silent, in milliseconds: three of the service's heartbeats. */
const stallMs = 45_000;

/** What a stream needs of its watch. */
export type StreamOptions = Pick<StockWatchOptions, "headers" | "onOpen"> & { readonly signal: AbortSignal };

/** One stream of changes, over one connection. */
export class StockStream {
  readonly #inventory: InventoryClient;
  readonly #timing: Timing;
  #isAnswered = false;
  /** The `elapsedMs` when the wait for the next message began; undefined while the reader has a message. */
  #waitingSinceMs: number | undefined;

  constructor({ inventory, timing }: { readonly inventory: InventoryClient; readonly timing: Timing }) {
    this.#inventory = inventory;
    this.#timing = timing;
  }

  /** Whether the headers of the answer have come. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /**
   * The messages, heartbeats included. Leaving the loop ends the connection. Throws what the call fails with, and
   * `Unavailable` when the service is silent for too long, or ends the stream without an error.
   */
  async *read(
    request: WatchStockChangesRequest,
    { signal, headers, onOpen }: StreamOptions,
  ): AsyncGenerator<WatchStockChangesResponse, never, undefined> {
    const connection = linkSignal(signal);
    const onHeader = () => {
      onOpen?.();
      this.#isAnswered = true;
    };
    try {
      this.#wait();
      this.#endWhenStalled(connection);
      const options = { signal: connection.signal, headers, onHeader };
      for await (const message of this.#inventory.watchStockChanges(request, options)) {
        this.#waitingSinceMs = undefined;
        yield message;
        this.#wait();
      }
      throw new ConnectError("The stream has ended.", Code.Unavailable);
    } catch (error) {
      throw connection.signal.aborted ? connection.signal.reason : error;
    } finally {
      connection.abort();
    }
  }

  #wait(): void {
    this.#waitingSinceMs = elapsedMs(this.#timing);
  }

  /**
   * Ends the connection when the service is silent for too long. The time that the reader takes for a message does not
   * count.
   */
  async #watchForStall(connection: AbortController): Promise<void> {
    for (let leftMs = stallMs; leftMs > 0; leftMs = this.#patienceMs()) {
      await this.#timing.sleep(leftMs, connection.signal);
    }
    connection.abort(new ConnectError(`Nothing has come for ${stallMs / 1_000} s.`, Code.Unavailable));
  }

  /** How long the service may still be silent, in milliseconds. */
  #patienceMs(): number {
    const nowMs = elapsedMs(this.#timing);
    return stallMs - (nowMs - (this.#waitingSinceMs ?? nowMs));
  }

  #endWhenStalled(connection: AbortController): void {
    // The sleep rejects when the connection ends by itself.
    this.#watchForStall(connection).catch(() => {});
  }
}
