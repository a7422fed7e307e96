import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { Answer, Exchange } from "../http/exchange.ts";
import type { HeaderList } from "../http/header-list.ts";
import type { StreamCallResponse, ToError } from "../rpc/call.ts";
import { encodeItem, MessageGroup } from "../rpc/prepared-message.ts";
import type { Binding } from "./binding.ts";
import type { JsonWriter } from "./fields/scalar.ts";
import type { ErrorBody } from "./rest-call.ts";
import { chooseFormat, type StreamFormat, type StreamFormats } from "./stream-format.ts";

/** A stream that is open. */
interface OpenStream {
  readonly exchange: Exchange;
  readonly binding: Binding;
  readonly response: StreamCallResponse;
  /** The headers of the answer. */
  readonly header: HeaderList;
  /** Converts any failure to an error that clients may see. */
  readonly toError: ToError;
  readonly errorBody: ErrorBody;
}

/** The answer that carries a stream. The request has been read, so it accepts one of the formats. */
export function streamAnswer({ exchange, binding, response, header, toError, errorBody }: OpenStream): Answer {
  const { message: messages, trailer } = response;
  const { formats, writeResponse } = binding;
  const toClientError = (reason: unknown) => toError(reason, exchange);
  const format = chooseFormat(formats as StreamFormats, exchange.header("accept"));
  if (format === undefined || format === "array") {
    header.set("content-type", "application/json");
    return { status: 200, header, body: writeArray(messages, writeResponse, toClientError), trailer };
  }
  header.set("content-type", format.contentType);
  header.set("cache-control", "no-store");
  // Proxies by nginx send what they have gathered only when a buffer is full, unless they are told.
  header.set("x-accel-buffering", "no");
  return { status: 200, header, body: writeEach(messages, format, toClientError, errorBody), trailer };
}

/**
 * The messages as one JSON array. When the stream fails, the iterable throws the error that `toError` makes, and the
 * array stays open.
 */
export async function* writeArray(
  messages: StreamCallResponse["message"],
  write: JsonWriter,
  toError: (reason: unknown) => Error,
): AsyncGenerator<Uint8Array> {
  let separator = "[";
  try {
    for await (const item of messages) {
      for (const message of item instanceof MessageGroup ? item.messages : [item]) {
        yield Buffer.from(separator + write(message));
        separator = ",";
      }
    }
  } catch (reason) {
    throw toError(reason);
  }
  yield Buffer.from(separator === "[" ? "[]" : "]");
}

/** The messages one by one. When the stream fails, the error is the last. */
async function* writeEach(
  messages: StreamCallResponse["message"],
  format: StreamFormat,
  toClientError: (reason: unknown) => ConnectError,
  errorBody: ErrorBody,
): AsyncGenerator<Uint8Array> {
  const write = (message: Message) => Buffer.from(format.message(message));
  try {
    for await (const item of messages) {
      yield encodeItem(item, format, write);
    }
  } catch (reason) {
    const error = toClientError(reason);
    yield Buffer.from(format.error(error, JSON.stringify(errorBody(error).body)));
  }
}
