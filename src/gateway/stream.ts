import type { JsonWriter } from "./json-scalar.ts";

/**
 * The messages as one JSON array. When the stream fails, so does the iterable, with what `toError` makes of the reason,
 * and the array stays open.
 */
export async function* writeArray(
  messages: AsyncIterable<unknown>,
  write: JsonWriter,
  toError: (reason: unknown) => Error,
): AsyncGenerator<Uint8Array> {
  let separator = "[";
  try {
    for await (const message of messages) {
      yield encode(separator + write(message));
      separator = ",";
    }
  } catch (reason) {
    throw toError(reason);
  }
  yield encode(separator === "[" ? "[]" : "]");
}

/**
 * The messages as lines of JSON. When the stream fails, a last line `{"error": …}` says so, as clients of grpc-gateway
 * know it, and the answer ends in good order.
 */
export async function* writeLines(
  messages: AsyncIterable<unknown>,
  write: JsonWriter,
  errorJson: (error: unknown) => string,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const message of messages) {
      yield encode(`${write(message)}\n`);
    }
  } catch (error) {
    yield encode(`{"error":${errorJson(error)}}\n`);
  }
}

const encoder = new TextEncoder();

function encode(text: string): Uint8Array {
  return encoder.encode(text);
}
