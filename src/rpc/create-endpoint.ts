import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  createContextKey,
  createContextValues,
  createHandlerContext,
  type Interceptor,
  type MethodImplSpec,
  type StreamResponse,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";
import {
  createAsyncIterable,
  invokeUnaryImplementation,
  transformInvokeImplementation,
} from "@connectrpc/connect/protocol";
import type { Exchange } from "../http/exchange.ts";
import type { Call, Endpoint } from "./endpoint.ts";

/** What happens to a call on its way to the implementation. */
export interface EndpointOptions {
  /** See a call as soon as its headers are in, with an empty message; the first one is the outermost. */
  readonly callInterceptors: readonly Interceptor[];
  /** See a call when its message has been read; the first one is the outermost. */
  readonly messageInterceptors: readonly Interceptor[];
}

/** The exchange that carries the call, for interceptors that need more of it than its headers. */
export const exchangeKey = createContextKey<Exchange | undefined>(undefined, { description: "exchange" });

type AnyFn = ReturnType<Interceptor>;
type Context = ReturnType<typeof createHandlerContext>;
type Response = UnaryResponse | StreamResponse;

/** A call under way, for the chain's last link. */
interface Running {
  readonly call: Call;
  readonly context: Context;
}

const runningKey = createContextKey<Running | undefined>(undefined, { description: "running call" });

/**
 * Makes an endpoint of an implementation: the interceptors are chained once, here, and not for each call.
 *
 * Connect's own handlers decode a message before any interceptor runs. Here the chain comes first, and its last link
 * reads the message: so what a caller sends who is not let in is never read.
 */
export function createEndpoint(spec: MethodImplSpec, options: EndpointOptions): Endpoint {
  const { method } = spec;
  if (method.methodKind !== "unary" && method.methodKind !== "server_streaming") {
    throw new Error(`${method.toString()}: only unary and server-streaming methods can be endpoints`);
  }
  const unread = create(method.input);
  const chain = [...options.callInterceptors].reduceRight<AnyFn>(
    (next, interceptor) => interceptor(next),
    lastLink(spec, options.messageInterceptors),
  );

  async function call(running: Call): Promise<Response> {
    const { exchange, protocolName, timeoutMs } = running;
    const url = `${exchange.scheme}://${exchange.authority ?? ""}${exchange.path}`;
    const contextValues = createContextValues().set(exchangeKey, exchange);
    const context = createHandlerContext({
      service: method.parent,
      method,
      protocolName,
      requestMethod: exchange.method,
      url,
      ...(timeoutMs !== undefined && { timeoutMs }),
      requestSignal: exchange.signal,
      requestHeader: exchange.requestHeader,
      contextValues,
    });
    contextValues.set(runningKey, { call: running, context });
    const request: UnaryRequest = {
      stream: false,
      service: method.parent,
      method: method as DescMethodUnary,
      requestMethod: exchange.method,
      url,
      signal: context.signal,
      header: exchange.requestHeader,
      contextValues,
      message: unread,
    };
    try {
      const response = await chain(request);
      return response.stream ? { ...response, message: closing(response.message, context) } : closed(response, context);
    } catch (error) {
      context.abort(error);
      throw error;
    }
  }

  return { method, call: call as Endpoint["call"] };
}

/** The last link of the chain: reads the message, and has the implementation answer it. */
function lastLink(spec: MethodImplSpec, interceptors: readonly Interceptor[]): AnyFn {
  return async (request) => {
    const { call, context } = request.contextValues.get(runningKey) as Running;
    const input = await call.read(context.signal);
    const message = await invoke(spec, context, input, [...interceptors]);
    const { responseHeader: header, responseTrailer: trailer } = context;
    const isStream = spec.kind === "server_streaming";
    return { stream: isStream, service: spec.method.parent, method: spec.method, header, trailer, message } as Response;
  };
}

async function invoke(
  spec: MethodImplSpec,
  context: Context,
  input: MessageShape<DescMessage>,
  interceptors: Interceptor[],
) {
  if (spec.kind === "unary") {
    return invokeUnaryImplementation(spec, context, input, interceptors);
  }
  const output = transformInvokeImplementation(
    spec as MethodImplSpec<DescMessage, DescMessage> & { method: DescMethodServerStreaming },
    context,
    interceptors,
  )(createAsyncIterable([input]));
  return untilFirst(output);
}

/** Waits for a stream's first message, so that an error before it is the answer, and headers can still be set. */
async function untilFirst<T>(stream: AsyncIterable<T>): Promise<AsyncIterable<T>> {
  const iterator = stream[Symbol.asyncIterator]();
  const first = await iterator.next();
  async function* resumed(): AsyncGenerator<T> {
    try {
      for (let item = first; item.done !== true; item = await iterator.next()) {
        yield item.value;
      }
    } finally {
      // A stream that is given up must end its source too.
      await iterator.return?.();
    }
  }
  return resumed();
}

/** A call that has been answered needs its deadline no more. */
function closed(response: UnaryResponse, context: Context): UnaryResponse {
  context.abort();
  return response;
}

/** A stream needs its deadline until it ends, or is given up. */
async function* closing<T>(messages: AsyncIterable<T>, context: Context): AsyncGenerator<T> {
  try {
    yield* messages;
  } finally {
    context.abort();
  }
}
