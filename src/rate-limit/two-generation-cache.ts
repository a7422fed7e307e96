/**
 * Keeps values in use. A value that is not read between two calls of `forgetIdle` is dropped by the second, so that
 * nobody has to search the whole cache.
 */
export class TwoGenerationCache<Value> {
  #current = new Map<string, Value>();
  #previous = new Map<string, Value>();

  get(id: string): Value | undefined {
    const value = this.#current.get(id);
    if (value !== undefined) {
      return value;
    }
    const older = this.#previous.get(id);
    return older === undefined ? undefined : this.set(id, older);
  }

  set(id: string, value: Value): Value {
    this.#current.set(id, value);
    return value;
  }

  forgetIdle(): void {
    this.#previous = this.#current;
    this.#current = new Map();
  }
}
