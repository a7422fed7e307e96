import { create, type DescMessage, type Message, type MessageShape } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { parseJson } from "../exact-json/parse.ts";
import { type Answer, type Exchange, isStream } from "../http/exchange.ts";
import type { HeaderList } from "../http/header-list.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { ContentFault, faultWithin } from "../proto-json/content-fault.ts";
import type { Fields } from "../proto-json/fields.ts";
import type { CallResponse, ProtocolCall, ToError, UnaryCallResponse } from "../rpc/call.ts";
import { toContentError } from "../rpc/codec.ts";
import { joinJson, PreparedMessage, writeParts } from "../rpc/prepared-message.ts";
import type { Binding, BodyBinding, BoundVariable, QueryBinding } from "./binding.ts";
import { answerConditionally, codeAnswer, isUtf8Json } from "./negotiation.ts";
import { chooseFormat, streamAnswer } from "./stream.ts";
import { percentDecode, percentDecodeSegments, readQuery } from "./url.ts";

/** Converts an error to the status and the JSON body of an answer. */
export type ErrorBody = (error: ConnectError) => { readonly status: number; readonly body: unknown };

/** What the calls of one gateway share. */
export interface RestOptions {
  readonly maxBodyBytes: number;
  /** Converts any failure to an error that clients may see. */
  readonly toError: ToError;
  readonly errorBody: ErrorBody;
}

/** A call over REST: how its message is read, and its answer written. */
export class RestCall implements ProtocolCall {
  readonly exchange: Exchange;
  readonly protocolName = "rest";
  readonly timeoutMs = undefined;
  readonly #binding: Binding;
  readonly #segments: readonly string[];
  readonly #options: RestOptions;

  /** `binding` is that of the route that the request matches, and `segments` are those of its path. */
  constructor(exchange: Exchange, binding: Binding, segments: readonly string[], options: RestOptions) {
    this.exchange = exchange;
    this.#binding = binding;
    this.#segments = segments;
    this.#options = options;
  }

  /**
   * Reads the message. It checks the media type first, then the size, then the content. The path overrides what the body
   * has of the same field. Throws `ProtocolError`.
   */
  async read(signal: AbortSignal | undefined): Promise<MessageShape<DescMessage>> {
    const { exchange } = this;
    const { rule, formats, body, query, variables, requestHeaders, readResume } = this.#binding;
    const { input } = rule.method;
    let bytes: Uint8Array | undefined;
    if (formats !== undefined) {
      assertAcceptable(exchange, formats);
    }
    if (body !== undefined) {
      assertJsonBody(exchange);
      bytes = await exchange.readBody(this.#options.maxBodyBytes, signal);
    }
    if (exchange.fault !== undefined) {
      throw exchange.fault;
    }
    const fromPath: unknown[] = [];
    for (const variable of variables) {
      fromPath.push(readVariable(variable, this.#segments));
    }
    const message = (body && bytes ? readBodyFields(body, bytes, input) : create(input)) as Message & Fields;
    if (query !== undefined && exchange.query !== "") {
      readQueryFields(exchange, query, message);
    }
    for (const [index, { set }] of variables.entries()) {
      set(message, fromPath[index]);
    }
    // The lines of one header are joined by commas.
    for (const { headerName, field } of requestHeaders) {
      const value = exchange.header(headerName);
      if (value !== undefined) {
        message[field.localName] = value;
      }
    }
    readResume?.(exchange, message);
    return message;
  }

  async answer(response: CallResponse, header: HeaderList): Promise<Answer> {
    const { exchange } = this;
    const binding = this.#binding;
    if (response.stream) {
      return streamAnswer({ exchange, binding, response, header, ...this.#options });
    }
    const { message } = response;
    writeHeaders(exchange, binding, response, header);
    const body =
      message instanceof PreparedMessage
        ? recordFailure(await preparedBody(binding, message), exchange, this.#options.toError)
        : binding.writeResponse(message);
    const isRead = exchange.method === "GET" || exchange.method === "HEAD";
    const mayBeCoded = typeof body !== "string" || body.length > shortLength;
    const answer = { status: binding.status, header, body };
    const coded = mayBeCoded ? codeAnswer(exchange, answer) : answer;
    return isRead ? answerConditionally(exchange, coded) : coded;
  }

  async fail(error: ConnectError, header: HeaderList): Promise<Answer> {
    return errorAnswer(error, header, this.#options.errorBody);
  }
}

/** Throws `not_acceptable` if `Accept` allows none of the formats of a stream. */
function assertAcceptable(exchange: Exchange, formats: NonNullable<Binding["formats"]>): void {
  if (chooseFormat(formats, exchange.header("accept")) === undefined) {
    const types = [formats.events, formats.lines].flatMap((format) => format?.contentType ?? []).join(", ");
    throw new ProtocolError("not_acceptable", `The answer is a stream. Accept one of: ${types}.`);
  }
}

/**
 * Throws `unsupported_media_type` unless the headers say JSON in UTF-8 without a content coding. The error's headers say
 * what is taken.
 *
 * Source: RFC 9110, 15.5.16; RFC 5789, 2.2.
 */
export function assertJsonBody(exchange: Exchange): void {
  const type = exchange.header("content-type");
  // A missing type means JSON.
  if (type !== undefined && type !== "" && type !== "application/json" && !isUtf8Json(type)) {
    const accept = exchange.method === "PATCH" ? "Accept-Patch" : "Accept";
    throw new ProtocolError("unsupported_media_type", "Send the body as application/json in UTF-8.", {
      [accept]: "application/json",
    });
  }
  const encoding = exchange.header("content-encoding");
  if (encoding !== undefined && encoding !== "" && encoding.toLowerCase() !== "identity") {
    throw new ProtocolError("unsupported_media_type", "Send the body without a Content-Encoding.", {
      "Accept-Encoding": "identity",
    });
  }
}

function readVariable({ read, jsonPath, start, end, isSingle }: BoundVariable, segments: readonly string[]): unknown {
  const text = isSingle ? (segments[start] ?? "") : segments.slice(start, end).join("/");
  try {
    return read(isSingle ? percentDecode(text) : percentDecodeSegments(text));
  } catch (error) {
    throw toContentError(faultWithin(error, jsonPath), "The path");
  }
}

/**
 * An absent body stands for an empty message, as callers of custom methods expect; so does `null`, which some generated
 * clients send instead. If the body is the value of one field, it must be present.
 */
function readBodyFields({ read, set }: BodyBinding, bytes: Uint8Array, desc: DescMessage): Message {
  try {
    const json = bytes.length === 0 ? null : parseJson(bytes);
    if (json === null && set === undefined) {
      return create(desc);
    }
    if (bytes.length === 0) {
      throw new ContentFault("is missing; send one as application/json");
    }
    const value = read(json);
    if (set === undefined) {
      return value as Message;
    }
    const message = create(desc) as Message & Fields;
    set(message, value);
    return message;
  } catch (error) {
    throw toContentError(error, "The request body");
  }
}

function readQueryFields(exchange: Exchange, query: QueryBinding, message: Fields): void {
  try {
    readQuery(exchange.query, query.fields, query.bound, message);
  } catch (error) {
    throw toContentError(error, "The query");
  }
}

/** The body of a prepared message. It holds all remaining entries of its list, so there is no next page. */
async function preparedBody(
  { writeResponse }: Binding,
  { restBody, parts, whole }: PreparedMessage,
): Promise<NonNullable<Answer["body"]>> {
  if (restBody !== undefined) {
    return restBody;
  }
  return parts === undefined ? writeResponse(await whole()) : inUtf8(joinJson(writeParts(parts(), writeResponse)));
}

/** Records why the rest of a body cannot be read. The client sees only that the answer breaks off. */
function recordFailure(body: NonNullable<Answer["body"]>, exchange: Exchange, toError: ToError): typeof body {
  return isStream(body) ? recording(body, exchange, toError) : body;
}

async function* recording(
  body: AsyncIterable<Uint8Array>,
  exchange: Exchange,
  toError: ToError,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (reason) {
    exchange.record.isBrokenOff = !exchange.isAbandoned;
    throw toError(reason, exchange);
  }
}

async function* inUtf8(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) {
    yield Buffer.from(text);
  }
}

/** The longest body that is never compressed, in UTF-16 code units: each takes three bytes at most. */
const shortLength = 340;

/** Sets the headers of an answer from the trailers of its response, and from fields. An empty field has no header. */
function writeHeaders(
  exchange: Exchange,
  binding: Binding,
  { message, trailer }: UnaryCallResponse,
  header: HeaderList,
): void {
  const isPrepared = message instanceof PreparedMessage;
  const fields = (isPrepared ? message.fields : message) as unknown as Fields;
  let ownNames: ReadonlySet<string> | undefined;
  trailer.forEach((value, name) => {
    ownNames ??= new Set(header.keys());
    if (!ownNames.has(name)) {
      header.append(name, value);
    }
  });
  header.set("content-type", "application/json");
  for (const { headerName, field } of binding.responseHeaders) {
    const value = fields[field.localName] as string | undefined;
    if (value !== undefined && value !== "") {
      header.set(headerName, value);
    }
  }
  const location = binding.location?.(fields);
  if (location !== undefined) {
    header.set("location", location);
  }
  const link = isPrepared ? undefined : binding.paging?.nextLink(exchange, fields);
  if (link !== undefined) {
    header.append("link", link);
  }
}

/** The answer to a request that has failed. */
export function errorAnswer(error: ConnectError, header: HeaderList, errorBody: ErrorBody): Answer {
  const { status, body } = errorBody(error);
  header.appendAll(error.metadata);
  header.set("content-type", "application/json");
  return { status, header, body: JSON.stringify(body) };
}
