/** Cuts bytes into chunks of a length, wherever that falls. */
export async function* chunksOf(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += length) {
    yield bytes.subarray(at, at + length);
  }
}

/** All that an iterable gives. */
export async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const value of values) {
    collected.push(value);
  }
  return collected;
}
