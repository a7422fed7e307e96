import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type StreamResponse, type UnaryResponse } from "@connectrpc/connect";
import type { Answer, Exchange } from "../http/exchange.ts";
import { joinJson, partsOf, writeParts } from "../rpc/parts.ts";
import { serializedOf } from "../rpc/serialized.ts";
import { acceptsNdjson } from "./accept.ts";
import type { Binding } from "./binding.ts";
import { answerConditionally } from "./conditional.ts";
import { codeAnswer } from "./content-coding.ts";
import type { Fields } from "./field-access.ts";
import { writeArray, writeLines } from "./stream.ts";

/** The answer to a failed request: its status, and a value that `JSON.stringify` writes. */
export type ErrorBody = (error: ConnectError) => { readonly status: number; readonly body: unknown };

/** The answer that carries a unary response. Throws an `internal` error when the message cannot be written. */
export function unaryAnswer(exchange: Exchange, binding: Binding, response: UnaryResponse): Answer {
  const header = joinTrailer(response);
  header.set("content-type", "application/json");
  const body = serializedOf(response.message)?.body ?? writeMessage(binding, response.message);
  const link = binding.paging?.nextLink(exchange, response.message as unknown as Fields);
  if (link !== undefined) {
    header.append("link", link);
  }
  return answerConditionally(exchange, codeAnswer(exchange, { status: 200, header, body }));
}

function writeMessage(binding: Binding, message: Message): string | AsyncIterable<Uint8Array> {
  const parts = partsOf(message);
  const write = (part: Message) => writeWhole(binding, part);
  return parts === undefined ? write(message) : inUtf8(joinJson(writeParts(parts, write)));
}

function writeWhole({ writeResponse }: Binding, message: Message): string {
  try {
    return writeResponse(message);
  } catch (cause) {
    throw new ConnectError("the response cannot be written as JSON", Code.Internal, undefined, undefined, cause);
  }
}

async function* inUtf8(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) {
    yield Buffer.from(text);
  }
}

/** What is made of a stream that fails half-way. */
export interface StreamErrors {
  /** Makes an error that clients may see of whatever was thrown. */
  readonly toError: (reason: unknown, exchange: Exchange) => ConnectError;
  readonly errorBody: ErrorBody;
}

/** The answer that carries a stream, which has begun: an error before the first message is no answer of this kind. */
export function streamAnswer(
  exchange: Exchange,
  { writeResponse }: Binding,
  { message: messages, header: responseHeader, trailer }: StreamResponse,
  { toError, errorBody }: StreamErrors,
): Answer {
  const header = jsonHeader(responseHeader);
  if (!acceptsNdjson(exchange.header("accept"))) {
    return { status: 200, header, body: writeArray(messages, writeResponse), trailer };
  }
  header.set("content-type", "application/x-ndjson");
  const errorJson = (reason: unknown) => JSON.stringify(errorBody(toError(reason, exchange)).body);
  return { status: 200, header, body: writeLines(messages, writeResponse, errorJson), trailer };
}

/** The answer to a request that has failed. */
export function errorAnswer(error: ConnectError, errorBody: ErrorBody): Answer {
  const { status, body } = errorBody(error);
  return { status, header: jsonHeader(error.metadata), body: JSON.stringify(body) };
}

/** The answer to OPTIONS. Source: RFC 9110, 9.3.7. */
export function optionsAnswer(header: Headers, allow: string): Answer {
  header.set("allow", allow);
  return { status: 204, header };
}

function jsonHeader(source: Headers): Headers {
  const header = new Headers(source);
  header.set("content-type", "application/json");
  return header;
}

/** Trailers of a unary response go with its headers, except where these have the same name already. */
function joinTrailer({ header, trailer }: UnaryResponse): Headers {
  trailer.forEach((value, name) => {
    if (!header.has(name)) {
      header.append(name, value);
    }
  });
  return header;
}
