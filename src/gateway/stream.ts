import { ConnectError, type StreamResponse } from "@connectrpc/connect";
import type { JsonWriter } from "./json-scalar.ts";

/** A stream of messages whose first one has arrived, so that an error before it is still an answer of its own. */
export interface StartedStream {
  readonly first: IteratorResult<unknown>;
  readonly rest: AsyncIterator<unknown>;
}

/** Waits for a stream's first message. Throws what the stream does. */
export async function startStream(response: StreamResponse): Promise<StartedStream> {
  const rest = response.message[Symbol.asyncIterator]();
  return { first: await rest.next(), rest };
}

/** The messages as one JSON array. When the stream fails, so does the iterable, and the array stays open. */
export async function* writeArray(stream: StartedStream, write: JsonWriter): AsyncGenerator<Uint8Array> {
  let separator = "[";
  for await (const message of resume(stream)) {
    yield encode(separator + write(message));
    separator = ",";
  }
  yield encode(separator === "[" ? "[]" : "]");
}

/**
 * The messages as lines of JSON. When the stream fails, a last line `{"error": …}` says so, as clients of grpc-gateway
 * know it, and the answer ends in good order.
 */
export async function* writeLines(
  stream: StartedStream,
  write: JsonWriter,
  errorJson: (error: ConnectError) => string,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const message of resume(stream)) {
      yield encode(`${write(message)}\n`);
    }
  } catch (error) {
    yield encode(`{"error":${errorJson(ConnectError.from(error))}}\n`);
  }
}

async function* resume({ first, rest }: StartedStream): AsyncGenerator<unknown> {
  try {
    for (let item = first; item.done !== true; item = await rest.next()) {
      yield item.value;
    }
  } finally {
    await rest.return?.();
  }
}

const encoder = new TextEncoder();

function encode(text: string): Uint8Array {
  return encoder.encode(text);
}
