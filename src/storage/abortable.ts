/** Waits for work that goes on by itself. Rejects with the signal's reason as soon as the signal is aborted. */
export async function abortable<T>(start: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) {
    return start();
  }
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([start(), aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
