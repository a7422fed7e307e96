import type { Http2Stream } from "./stream.ts";

/** How many closed streams are remembered. Frames that were under way when a stream closed name no older ones. */
const remembered = 256;

/**
 * The streams of a connection. A `Map`, which gains and loses an entry for each stream, would be rebuilt every few
 * hundred of them; so the few that are open are searched.
 */
export class StreamTable {
  readonly #open: Http2Stream[] = [];
  /** The ids of the streams that closed last, negative for those that were reset by us; most connections close none. */
  #closed: Int32Array | undefined;
  #closedCount = 0;

  get openCount(): number {
    return this.#open.length;
  }

  /** Those that are open now, to be looped over while some are closed. */
  all(): Http2Stream[] {
    return [...this.#open];
  }

  add(stream: Http2Stream): void {
    this.#open.push(stream);
  }

  /** Finds an open stream. New ones are asked for most. */
  find(id: number): Http2Stream | undefined {
    const open = this.#open;
    for (let i = open.length - 1; i >= 0; i--) {
      if ((open[i] as Http2Stream).id === id) {
        return open[i];
      }
    }
    return undefined;
  }

  /** Closes an open stream. */
  close(stream: Http2Stream, isResetByUs: boolean): void {
    const open = this.#open;
    const at = open.lastIndexOf(stream);
    const last = open.pop() as Http2Stream;
    if (at < open.length) {
      open[at] = last;
    }
    this.noteClosed(stream.id, isResetByUs);
  }

  /** Remembers a stream that has closed, or was never opened. */
  noteClosed(id: number, isResetByUs: boolean): void {
    this.#closed ??= new Int32Array(remembered);
    this.#closed[this.#closedCount % remembered] = isResetByUs ? -id : id;
    this.#closedCount += 1;
  }

  /** How a stream closed that is not open; undefined if that is not remembered. */
  howClosed(id: number): "reset by us" | "by the client, or at its end" | undefined {
    if (this.#closed?.includes(-id)) {
      return "reset by us";
    }
    return this.#closed?.includes(id) ? "by the client, or at its end" : undefined;
  }
}
