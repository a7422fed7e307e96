/** Collects latencies, in microseconds, and computes their percentiles. */
export class Latencies {
  #values = new Float64Array(1 << 16);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(latencyUs: number): void {
    if (this.#count === this.#values.length) {
      const grown = new Float64Array(2 * this.#count);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.#count++] = latencyUs;
  }

  /** The latency that this share of all, such as 0.99, do not exceed. 0 when there are none. */
  percentile(share: number): number {
    const sorted = this.#values.subarray(0, this.#count).sort();
    return sorted[Math.max(0, Math.ceil(share * this.#count) - 1)] ?? 0;
  }
}
