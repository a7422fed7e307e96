import type { DescMessage, DescMethod, Message } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import type { Exchange } from "../http/exchange.ts";
import { createGetter, createSetter, type Fields, requireField } from "./fields/field-access.ts";
import type { JsonWriter } from "./fields/scalar.ts";
import { qualityOf } from "./negotiation.ts";
import type { HttpRule } from "./routes/http-rule.ts";

/** How the messages of a stream become Server-Sent Events. Fields go by their proto names, and are text. */
export interface EventOptions {
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
  /** What ends a stream that has failed. `body` is the error in JSON. */
  error(error: ConnectError, body: string): string;
}

/** The formats of a stream that callers choose from by `Accept`. */
export interface StreamFormats {
  readonly lines: StreamFormat;
  /** Undefined for a stream that is one JSON array otherwise. */
  readonly events: StreamFormat | undefined;
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
 * Server-Sent Events. A heartbeat is a comment, with an id from which a reader goes on. A failed stream ends with the
 * event `error`.
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

/** Sets a field from the `Last-Event-ID` of a request, whatever the query has set. Without it, nothing is set. */
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

/** The format that `Accept` asks for. `array` is the usual one of a stream without events; undefined for none. */
export function chooseFormat({ lines, events }: StreamFormats, accept = "*/*") {
  const usualQuality = qualityOf(accept, rangesOf(events?.contentType ?? "application/json"));
  const linesQuality = qualityOf(accept, rangesOf(lines.contentType));
  // Of equals, lines are asked for only by their name.
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
