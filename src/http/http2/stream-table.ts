import type { Http2Stream } from "./stream.ts";

/**
 * How many closed streams the table remembers: enough to recognise frames that were in flight when their stream closed.
 */
const maxClosed = 256;

/**
 * The streams of a connection. The open ones are in an array, which is short enough to search. A `Map` would rehash
 * every few hundred streams, because each stream adds an entry and removes it.
 */
export class StreamTable {
  readonly #open: Http2Stream[] = [];
  /**
   * The ids of the streams that closed last, as a ring. The id of a stream that the server reset is negative. The ring
   * is created when the first stream closes.
   */
  #closed: Int32Array | undefined;
  #closedCount = 0;

  get openCount(): number {
    return this.#open.length;
  }

  /** A copy of the list of open streams: the caller may close streams while it loops. */
  all(): Http2Stream[] {
    return [...this.#open];
  }

  add(stream: Http2Stream): void {
    this.#open.push(stream);
  }

  /** Finds an open stream. The search begins with the newest ones, which frames name most often. */
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

  /** Remembers the id of a stream that has closed, or that was refused. */
  noteClosed(id: number, isResetByUs: boolean): void {
    this.#closed ??= new Int32Array(maxClosed);
    this.#closed[this.#closedCount % maxClosed] = isResetByUs ? -id : id;
    this.#closedCount += 1;
  }

  /** How a stream closed. Undefined if the table does not remember the stream. */
  howClosed(id: number): "reset by us" | "by the client, or at its end" | undefined {
    if (this.#closed?.includes(-id)) {
      return "reset by us";
    }
    return this.#closed?.includes(id) ? "by the client, or at its end" : undefined;
  }
}
