/** How many items are done in a row: enough to be worth it, and so few that the work of all of them stays in cache. */
const rowLength = 32;

/**
 * Puts work off to the end of the event loop's turn, to do it in a row. Between two system calls, such as the reading
 * of one request and of the next, the processor forgets much of what it needs for a request: done in a row, they cost a
 * fourth less.
 */
export class Batch<Item> {
  readonly #work: (item: Item) => void;
  #items: Item[] = [];

  /** `work` must not throw. */
  constructor(work: (item: Item) => void) {
    this.#work = work;
  }

  add(item: Item): void {
    if (this.#items.push(item) === 1) {
      setImmediate(() => this.#run());
    }
  }

  #run(): void {
    const items = this.#items;
    this.#items = [];
    this.#runRow(items, 0);
  }

  /** What an item leaves to the queue of microtasks is done before the next row. */
  #runRow(items: readonly Item[], start: number): void {
    const end = Math.min(start + rowLength, items.length);
    for (let index = start; index < end; index++) {
      this.#work(items[index] as Item);
    }
    if (end < items.length) {
      process.nextTick(() => this.#runRow(items, end));
    }
  }
}
