import type { DescMessage, DescMethod, Message } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import type { Answer, Exchange } from "../http/exchange.ts";
import type { HeaderList } from "../http/header-list.ts";
import { createGetter, createSetter, type Fields, requireField } from "../proto-json/fields.ts";
import type { JsonWriter } from "../proto-json/scalar.ts";
import type { StreamCallResponse, ToError } from "../rpc/call.ts";
import { encodeItem, MessageGroup } from "../rpc/prepared-message.ts";
import type { Binding } from "./binding.ts";
import { qualityOf } from "./negotiation.ts";
import type { ErrorBody } from "./rest-call.ts";
import type { HttpRule } from "./routes/http-rule.ts";

/** How the messages of a stream become Server-Sent Events. Fields are given by their proto names, and are strings. */
interface EventOptions {
  /** The type of the events, such as `stock-change`. */
  readonly type: string;
  /** The field of the response that is the event's id. */
  readonly idField: string;
  /** The field of the request that `Last-Event-ID` sets. */
  readonly resumeField: string;
}

/** The events of a method; undefined for one that has none. */
export type EventsOf = (method: DescMethod) => EventOptions | undefined;

/** How a stream is written as text, message by message. */
export interface StreamFormat {
  readonly contentType: string;
  message(message: Message): string;
  /** The text that ends a failed stream. `body` is the error in JSON. */
  error(error: ConnectError, body: string): string;
}

/** The formats of a stream that callers choose from by `Accept`. */
export interface StreamFormats {
  readonly lines: StreamFormat;
  /** Undefined for a stream without events, whose other format is one JSON array. */
  readonly events: StreamFormat | undefined;
}

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

/** The answer that carries a stream. `RestCall.read` has checked that the request accepts one of the formats. */
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
  // Without this header, nginx buffers the stream, and sends only full buffers.
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

/**
 * The format that `Accept` asks for; an empty one accepts all, as an absent one does. `array` is the default of a stream
 * without events. Undefined if no format is acceptable.
 */
export function chooseFormat({ lines, events }: StreamFormats, sent: string | undefined) {
  const accept = sent || "*/*";
  const usualQuality = qualityOf(accept, rangesOf(events?.contentType ?? "application/json"));
  const linesQuality = qualityOf(accept, rangesOf(lines.contentType));
  // At equal quality, lines are chosen only if `Accept` names them.
  const areNamed = linesQuality > 0 && qualityOf(accept, [lines.contentType]) === linesQuality;
  if (linesQuality > usualQuality || (areNamed && linesQuality === usualQuality)) {
    return lines;
  }
  if (events === undefined) {
    return "array";
  }
  return usualQuality > 0 ? events : undefined;
}

/** The ranges that a media type is in, the most specific one first. Source: RFC 9110, 12.5.1 */
function rangesOf(contentType: string): readonly string[] {
  return [contentType, `${contentType.slice(0, contentType.indexOf("/"))}/*`, "*/*"];
}

/** Compiles the formats of a rule's method. Throws an `Error` for events that the method cannot have. */
export function createStreamFormats(rule: HttpRule, write: JsonWriter, options: EventOptions | undefined) {
  if (options === undefined) {
    return { lines: jsonLines(write, () => false), events: undefined };
  }
  const { output } = rule.method;
  if (rule.responseBody === "") {
    throw new Error("a stream of events needs a response_body, whose absence makes a heartbeat");
  }
  const content = createGetter(requireField(output, rule.responseBody));
  const isHeartbeat = (message: Message) => content(message as unknown as Fields) === undefined;
  return { lines: jsonLines(write, isHeartbeat), events: serverSentEvents(write, isHeartbeat, output, options) };
}

/** Newline-delimited JSON. A heartbeat is an empty line; the last line of a failed stream is `{"error": …}`. */
function jsonLines(write: JsonWriter, isHeartbeat: (message: Message) => boolean): StreamFormat {
  return {
    contentType: "application/x-ndjson",
    message: (message) => (isHeartbeat(message) ? "\n" : `${write(message)}\n`),
    error: (_error, body) => `{"error":${body}}\n`,
  };
}

/** How long a client waits before it calls again, in milliseconds, where the service is unavailable. */
export const retryMs = 1_000;

/**
 * Server-Sent Events. A heartbeat is a comment with an id, from which a reader can resume. A failed stream ends with
 * the event `error`.
 *
 * Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
function serverSentEvents(
  write: JsonWriter,
  isHeartbeat: (message: Message) => boolean,
  output: DescMessage,
  { type, idField }: EventOptions,
): StreamFormat {
  const get = createGetter(requireField(output, idField));
  const idLineOf = (message: Message) => `id: ${get(message as unknown as Fields) as string}\n`;
  return {
    contentType: "text/event-stream",
    message(message) {
      const idLine = idLineOf(message);
      return isHeartbeat(message) ? `: heartbeat\n${idLine}\n` : `${idLine}event: ${type}\ndata: ${write(message)}\n\n`;
    },
    error({ code }, body) {
      const retry = code === Code.Unavailable ? `retry: ${retryMs}\n` : "";
      return `${retry}event: error\ndata: ${body}\n\n`;
    },
  };
}

/**
 * Sets a field from the `Last-Event-ID` of a request, which overrides the query. Without that header, it sets nothing.
 */
export type ResumeReader = (exchange: Exchange, message: Fields) => void;

/** Makes the reader of a method's `Last-Event-ID`. */
export function createResumeReader({ input }: DescMethod, { resumeField }: EventOptions): ResumeReader {
  const set = createSetter(requireField(input, resumeField));
  return (exchange, message) => {
    const id = exchange.header("last-event-id");
    if (id !== undefined && id !== "") {
      set(message, id);
    }
  };
}
