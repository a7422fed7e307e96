/**
 * What was used of late, by its id. What has not been used between two calls of `forgetIdle` is forgotten by the
 * second: so nobody ever has to look through all of it.
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
