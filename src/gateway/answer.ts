import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Answer } from "../http/exchange.ts";
import type { HeaderList } from "../http/header-list.ts";
import type { ToError } from "../rpc/answer-call.ts";
import type { StreamCallResponse, UnaryCallResponse } from "../rpc/call.ts";
import { joinJson, PreparedMessage, writeParts } from "../rpc/prepared-message.ts";
import { acceptsNdjson } from "./accept.ts";
import type { Binding } from "./binding.ts";
import { answerConditionally } from "./conditional.ts";
import { codeAnswer } from "./content-coding.ts";
import type { Fields } from "./field-access.ts";
import type { RoutedRequest } from "./request.ts";
import { writeArray, writeLines } from "./stream.ts";

/** The answer to a failed request: its status, and a value that `JSON.stringify` writes. */
export type ErrorBody = (error: ConnectError) => { readonly status: number; readonly body: unknown };

/**
 * The answer that carries a unary response. `header` is that of the answer. Throws an `internal` error when the message
 * cannot be written.
 */
export async function unaryAnswer(
  { exchange, binding }: RoutedRequest,
  { message, trailer }: UnaryCallResponse,
  header: HeaderList,
): Promise<Answer> {
  joinTrailer(header, trailer);
  header.set("content-type", "application/json");
  const body =
    message instanceof PreparedMessage ? await writePrepared(binding, message) : writeWhole(binding, message);
  const link =
    message instanceof PreparedMessage ? undefined : binding.paging?.nextLink(exchange, message as unknown as Fields);
  if (link !== undefined) {
    header.append("link", link);
  }
  return answerConditionally(exchange, codeAnswer(exchange, { status: 200, header, body }));
}

function writeWhole({ writeResponse }: Binding, message: Message): string {
  try {
    return writeResponse(message);
  } catch (cause) {
    throw new ConnectError("the response cannot be written as JSON", Code.Internal, undefined, undefined, cause);
  }
}

/** The body of a message that is all that remains of its list, so that there is no next page. */
async function writePrepared(
  binding: Binding,
  { restBody, parts, whole }: PreparedMessage,
): Promise<string | Uint8Array | AsyncIterable<Uint8Array>> {
  if (restBody !== undefined) {
    return await restBody();
  }
  const write = (part: Message) => writeWhole(binding, part);
  return parts === undefined ? write(await whole()) : inUtf8(joinJson(writeParts(parts(), write)));
}

async function* inUtf8(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) {
    yield Buffer.from(text);
  }
}

/** A stream that has begun: an error before its first message is no answer of this kind. */
interface BegunStream {
  readonly response: StreamCallResponse;
  /** The headers of the answer. */
  readonly header: HeaderList;
  /** Makes an error that clients may see of whatever was thrown. */
  readonly toError: ToError;
  readonly errorBody: ErrorBody;
}

/** The answer that carries a stream. */
export function streamAnswer(
  { exchange, binding: { writeResponse } }: RoutedRequest,
  { response: { message: messages, trailer }, header, toError, errorBody }: BegunStream,
): Answer {
  const toClientError = (reason: unknown) => toError(reason, exchange);
  if (!acceptsNdjson(exchange.header("accept"))) {
    header.set("content-type", "application/json");
    return { status: 200, header, body: writeArray(messages, writeResponse, toClientError), trailer };
  }
  header.set("content-type", "application/x-ndjson");
  const errorJson = (reason: unknown) => JSON.stringify(errorBody(toClientError(reason)).body);
  return { status: 200, header, body: writeLines(messages, writeResponse, errorJson), trailer };
}

/** The answer to a request that has failed. */
export function errorAnswer(error: ConnectError, header: HeaderList, errorBody: ErrorBody): Answer {
  const { status, body } = errorBody(error);
  header.appendAll(error.metadata);
  header.set("content-type", "application/json");
  return { status, header, body: JSON.stringify(body) };
}

/** The answer to OPTIONS. Source: RFC 9110, 9.3.7. */
export function optionsAnswer(header: HeaderList, allow: string): Answer {
  header.set("allow", allow);
  return { status: 204, header };
}

/** Trailers of a unary response go with its headers, except where these have the same name already. */
function joinTrailer(header: HeaderList, trailer: Headers): void {
  trailer.forEach((value, name) => {
    if (!header.has(name)) {
      header.append(name, value);
    }
  });
}
