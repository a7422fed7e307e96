/** Waits for a promise, `ms` at most. Resolves to whether it was settled by then; rejects when it does. */
export async function atMost(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const { promise: timeout, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, ms, false);
  try {
    return await Promise.race([promise.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
