import { create, type DescMethod, isFieldSet, type Message } from "@bufbuild/protobuf";
import type { Interceptor, StreamRequest, StreamResponse, UnaryRequest, UnaryResponse } from "@connectrpc/connect";
import type { Call, CallHandler, CallResponse, ConnectRequest } from "./call.ts";

/**
 * Lets a Connect interceptor see a call, and change what the next handler sees: the message, `header`, `signal`,
 * `contextValues`, `url`. It is applied again for each call, as Connect does. So a request that it passes on belongs to
 * this call, even if it was made from scratch.
 *
 * Before the message is read the interceptor sees an empty one. If it passes on a message with a field set, that
 * message replaces the body, which is then not read.
 *
 * Source: https://connectrpc.com/docs/node/interceptors/
 */
export function applyConnectInterceptor(interceptor: Interceptor, next: CallHandler): CallHandler {
  return async (call) => {
    const { raw } = call.answerHeader;
    const { length } = raw;
    const run = interceptor(async (request) => {
      // An interceptor may call `next` again. The answer has only the headers of the last attempt.
      raw.length = length;
      return toConnectResponse(call, await next(await passOn(call, request)));
    });
    return toCallResponse(await run(toConnectRequest(call)));
  };
}

/** Makes a plain object, so that interceptors can copy it by `{...request}`. */
function toConnectRequest(call: Call): ConnectRequest {
  const { method, service, requestMethod, url, requestHeader: header, signal, contextValues } = call;
  const common = { method, service, requestMethod, url, header, signal, contextValues };
  const message = call.message ?? create(method.input);
  return method.methodKind === "unary"
    ? ({ ...common, stream: false, message } as UnaryRequest)
    : ({ ...common, stream: true, message: each(message) } as StreamRequest);
}

async function passOn(call: Call, request: ConnectRequest): Promise<Call> {
  const message = request.stream ? await first(request.message) : request.message;
  const isUnread = call.message === undefined && isEmpty(call.method, message);
  return call.withRequest(request, isUnread ? undefined : message);
}

function toConnectResponse({ method, service }: Call, response: CallResponse): UnaryResponse | StreamResponse {
  return { ...response, method, service } as UnaryResponse | StreamResponse;
}

function toCallResponse({ stream, header, trailer, message }: UnaryResponse | StreamResponse): CallResponse {
  return { stream, header, trailer, message } as CallResponse;
}

function isEmpty({ input }: DescMethod, message: Message): boolean {
  return input.fields.every((field) => !isFieldSet(message, field));
}

async function* each<T>(item: T): AsyncGenerator<T> {
  yield item;
}

/** The one message of a server-streaming request. */
async function first(messages: AsyncIterable<Message>): Promise<Message> {
  for await (const message of messages) {
    return message;
  }
  throw new Error("an interceptor passed on a request without its message");
}
