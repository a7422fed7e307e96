/**
 * Counts the answers that are under way, from a request's head on until the last byte has been handed to the system.
 */
export class UnderWay {
  #count = 0;
  #drained: (() => void) | undefined;

  enter(): void {
    this.#count += 1;
  }

  /** To be called once for each that has entered. */
  leave(): void {
    this.#count -= 1;
    if (this.#count === 0) {
      this.#drained?.();
    }
  }

  /** Resolves when there are none. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#drained = resolve;
      if (this.#count === 0) {
        resolve();
      }
    });
  }
}
