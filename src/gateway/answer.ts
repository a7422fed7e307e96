import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Answer } from "../http/exchange.ts";
import type { HeaderList } from "../http/header-list.ts";
import type { UnaryCallResponse } from "../rpc/call.ts";
import { joinJson, PreparedMessage, writeParts } from "../rpc/prepared-message.ts";
import type { Binding } from "./binding.ts";
import { writeFieldHeaders } from "./field-headers.ts";
import type { Fields } from "./fields/field-access.ts";
import { answerConditionally, codeAnswer } from "./negotiation.ts";
import type { RoutedRequest } from "./request.ts";

/** Converts an error to the status and the JSON body of an answer. */
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
  const isPrepared = message instanceof PreparedMessage;
  const body = isPrepared ? await writePrepared(binding, message) : writeWhole(binding, message);
  const fields = (isPrepared ? message.fields : message) as unknown as Fields;
  writeFieldHeaders(binding.responseHeaders, fields, header);
  const link = isPrepared ? undefined : binding.paging?.nextLink(exchange, fields);
  if (link !== undefined) {
    header.append("link", link);
  }
  const answer = codeAnswer(exchange, { status: binding.status, header, body });
  const isRead = exchange.method === "GET" || exchange.method === "HEAD";
  return isRead ? answerConditionally(exchange, answer) : answer;
}

function writeWhole({ writeResponse }: Binding, message: Message): string {
  try {
    return writeResponse(message);
  } catch (cause) {
    throw new ConnectError("the response cannot be written as JSON", Code.Internal, undefined, undefined, cause);
  }
}

/** The body of a prepared message. It is the rest of its list, so there is no next page. */
async function writePrepared(
  binding: Binding,
  { restBody, parts, whole }: PreparedMessage,
): Promise<NonNullable<Answer["body"]>> {
  if (restBody !== undefined) {
    return restBody;
  }
  const write = (part: Message) => writeWhole(binding, part);
  return parts === undefined ? write(await whole()) : inUtf8(joinJson(writeParts(parts(), write)));
}

async function* inUtf8(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) {
    yield Buffer.from(text);
  }
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

/** Adds the trailers of a unary response to its headers, except those that are headers already. */
function joinTrailer(header: HeaderList, trailer: Headers): void {
  trailer.forEach((value, name) => {
    if (!header.has(name)) {
      header.append(name, value);
    }
  });
}
