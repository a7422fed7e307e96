import type { CallOptions } from "./call-options.ts";
import { linkSignal } from "./link-signal.ts";

/**
 * A stream that ends when its reader leaves the loop. Connect's own iterables have no `return()`: such a stream stays
 * open when the loop is left. It is opened by the first read, because a generator that has not begun ends without its
 * `finally`.
 */
export async function* readLeavableStream<Message>(
  open: (options: CallOptions) => AsyncIterable<Message>,
  options: CallOptions = {},
): AsyncGenerator<Message, void, undefined> {
  const connection = linkSignal(options.signal);
  try {
    yield* open({ ...options, signal: connection.signal });
  } finally {
    connection.abort();
  }
}
