import { clone, type DescMessage, type Message } from "@bufbuild/protobuf";
import {
  createContextValues,
  type Interceptor,
  type StreamRequest,
  type StreamResponse,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";

/** Passes on a copy of the request, and gives back a copy of the response. No object is the one that it was given. */
const cloning: Interceptor = (next) => async (request) => cloneResponse(await next(cloneRequest(request)));

function cloneRequest(request: UnaryRequest | StreamRequest): UnaryRequest | StreamRequest {
  const { method, header, signal, contextValues } = request;
  const copy = {
    header: new Headers(header),
    signal: AbortSignal.any([signal]),
    contextValues: Object.assign(createContextValues(), contextValues),
  };
  return request.stream
    ? { ...request, ...copy, message: cloneEach(method.input, request.message) }
    : { ...request, ...copy, message: clone(method.input, request.message) };
}

function cloneResponse(response: UnaryResponse | StreamResponse): UnaryResponse | StreamResponse {
  const { method, header, trailer } = response;
  const copy = { header: new Headers(header), trailer: new Headers(trailer) };
  return response.stream
    ? { ...response, ...copy, message: cloneEach(method.output, response.message) }
    : { ...response, ...copy, message: clone(method.output, response.message) };
}

async function* cloneEach(desc: DescMessage, messages: AsyncIterable<Message>): AsyncGenerator<Message> {
  for await (const message of messages) {
    yield clone(desc, message);
  }
}

export const callInterceptors = [cloning, cloning];
export const messageInterceptors = [cloning, cloning];
