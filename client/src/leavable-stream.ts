import type { CallOptions } from "./call-options.ts";
import { linkSignal } from "./link-signal.ts";

/**
 * Opens a stream that ends when its reader leaves the loop. Connect's own iterables have no `return()`: such a stream
 * stays open when the loop is left.
 */
export function openLeavableStream<Message>(
  open: (options: CallOptions) => AsyncIterable<Message>,
  options: CallOptions = {},
): AsyncIterable<Message> {
  const connection = linkSignal(options.signal);
  return readAndEnd(open({ ...options, signal: connection.signal }), connection);
}

async function* readAndEnd<Message>(messages: AsyncIterable<Message>, connection: AbortController) {
  try {
    yield* messages;
  } finally {
    connection.abort();
  }
}
