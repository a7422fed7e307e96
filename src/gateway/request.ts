import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { JsonFault, parseJson } from "../exact-json/parse.ts";
import type { Exchange } from "../http/exchange.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import type { Binding, BodyBinding, BoundVariable } from "./binding.ts";
import { ContentFault, faultWithin, toProtocolError } from "./content-fault.ts";
import { readFieldHeaders } from "./field-headers.ts";
import { createFields, type Fields } from "./fields/field-access.ts";
import { readQuery } from "./query/query.ts";
import { percentDecode, percentDecodeSegments } from "./query/url-text.ts";
import { chooseFormat } from "./stream-format.ts";

/** A request with its binding, and the segments of its path. */
export interface RoutedRequest {
  readonly exchange: Exchange;
  readonly binding: Binding;
  readonly segments: readonly string[];
  readonly maxBodyBytes: number;
  /** Why the request is refused once its body has been read; undefined where it is not. */
  readonly contentFault: ProtocolError | undefined;
}

/**
 * Reads the message of a request. It checks the media type first, then the size, then the content. A field in the path
 * overrides the same field in the body. Throws `ProtocolError`.
 */
export async function readRequest(
  request: RoutedRequest,
  signal: AbortSignal | undefined,
): Promise<MessageShape<DescMessage>> {
  const { exchange, binding, maxBodyBytes } = request;
  let bytes: Uint8Array | undefined;
  assertAcceptable(request);
  if (binding.body !== undefined) {
    assertJsonBody(exchange);
    bytes = await exchange.readBody(maxBodyBytes, signal);
  }
  if (request.contentFault !== undefined) {
    throw request.contentFault;
  }
  return readMessage(request, bytes) as unknown as MessageShape<DescMessage>;
}

/** Throws `not_acceptable` where `Accept` takes none of the formats of a stream. */
function assertAcceptable({ exchange, binding: { formats } }: RoutedRequest): void {
  if (formats !== undefined && chooseFormat(formats, exchange.header("accept")) === undefined) {
    const types = [formats.events, formats.lines].flatMap((format) => format?.contentType ?? []).join(", ");
    throw new ProtocolError("not_acceptable", `The answer is a stream. Accept one of: ${types}.`);
  }
}

function readMessage({ exchange, binding, segments }: RoutedRequest, bytes: Uint8Array | undefined): Fields {
  const { body, query, requestHeaders, readResume, rule, variables } = binding;
  const fromPath = variables.map((variable) => readVariable(variable, segments));
  const message = body && bytes ? readBodyFields(body, bytes, rule.method.input) : createFields(rule.method.input);
  if (query !== undefined && exchange.query !== "") {
    readQueryFields(exchange, query, message);
  }
  for (const [index, { set }] of variables.entries()) {
    set(message, fromPath[index]);
  }
  readFieldHeaders(requestHeaders, exchange, message);
  readResume?.(exchange, message);
  return message;
}

function readVariable({ read, jsonPath, start, end, isSingle }: BoundVariable, segments: readonly string[]): unknown {
  const text = isSingle ? (segments[start] ?? "") : segments.slice(start, end).join("/");
  try {
    return read(isSingle ? percentDecode(text) : percentDecodeSegments(text));
  } catch (error) {
    throw toProtocolError(faultWithin(error, jsonPath), "The path");
  }
}

function readQueryFields(exchange: Exchange, query: NonNullable<Binding["query"]>, message: Fields): void {
  try {
    readQuery(exchange.query, query.fields, query.bound, message);
  } catch (error) {
    throw toProtocolError(error, "The query");
  }
}

/** An absent body stands for an empty message, as callers of custom methods expect. A field needs a value. */
function readBodyFields({ read, set }: BodyBinding, bytes: Uint8Array, desc: DescMessage): Fields {
  const message = createFields(desc);
  if (bytes.length === 0 && set === undefined) {
    return message;
  }
  try {
    const value = read(parseBody(bytes));
    if (set === undefined) {
      return value as Fields;
    }
    set(message, value);
    return message;
  } catch (error) {
    throw toProtocolError(error, "The request body");
  }
}

function parseBody(bytes: Uint8Array): unknown {
  if (bytes.length === 0) {
    throw new ContentFault("is missing; send one as application/json");
  }
  try {
    return parseJson(bytes);
  } catch (error) {
    throw error instanceof JsonFault ? new ContentFault(error.reason) : error;
  }
}

/** `application/json`, with parameters or without. Source: RFC 9110, 8.3.1. */
const json = /^application\/json[ \t]*(?:;(.*))?$/i;

/** The longest media type that is parsed: a longer one means nothing, and could take long. */
const maxLength = 256;

/** A parameter, its value a token or a quoted string. */
const parameter = /[ \t]*([^=; \t]+)=(?:"([^"]*)"|([^; \t]*))[ \t]*(?:;|$)/g;

/** Throws `unsupported_media_type` unless the headers say JSON in UTF-8 without a content coding. */
export function assertJsonBody(exchange: Exchange): void {
  const type = exchange.header("content-type");
  // A missing type means JSON.
  if (type !== undefined && type !== "" && type !== "application/json" && !isUtf8Json(type)) {
    throw new ProtocolError("unsupported_media_type", "Send the body as application/json in UTF-8.");
  }
  const encoding = exchange.header("content-encoding");
  if (encoding !== undefined && encoding !== "" && encoding.toLowerCase() !== "identity") {
    throw new ProtocolError("unsupported_media_type", "Send the body without a Content-Encoding.");
  }
}

function isUtf8Json(type: string): boolean {
  const match = type.length > maxLength ? null : json.exec(type.trim());
  return match !== null && charsets(match[1] ?? "").every((charset) => charset.toLowerCase() === "utf-8");
}

function charsets(parameters: string): string[] {
  return [...parameters.matchAll(parameter)]
    .filter(([, name]) => name?.toLowerCase() === "charset")
    .map(([, , quoted, plain]) => quoted ?? plain ?? "");
}
