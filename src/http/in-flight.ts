/** Counts the requests in flight: from the request's head until the last byte of its answer is with the system. */
export class InFlight {
  #count = 0;
  #drained: (() => void) | undefined;

  enter(): void {
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
    if (this.#count === 0) {
      this.#drained?.();
    }
  }

  /** Resolves when no request is in flight. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#drained = resolve;
      if (this.#count === 0) {
        resolve();
      }
    });
  }
}
