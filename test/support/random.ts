/** Pseudo-random choices by a seed. The generator is mulberry32, with a period of 2^32. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** An integer of 32 bits. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** An integer from 0 to below `end`; 0 if there is none. */
  below(end: number): number {
    return Math.floor((this.next() / 2 ** 32) * end);
  }

  /** True once in a number of times, on average. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  /** One of the entries, which must not be empty. */
  pick<T>(entries: readonly T[]): T {
    return entries[this.below(entries.length)] as T;
  }

  /** An int64 that is small, at the boundary of an integer type, or any. */
  int64(): bigint {
    const small = BigInt(this.below(21) - 10);
    const power = 1n << BigInt(this.below(64));
    const any = (BigInt(this.next()) << 32n) | BigInt(this.next());
    return BigInt.asIntN(64, this.pick([small, power + small, -power + small, any]));
  }
}
