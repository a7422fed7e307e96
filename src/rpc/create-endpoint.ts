import { create, type DescMessage, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import type { Interceptor, MethodImplSpec, StreamResponse, UnaryResponse } from "@connectrpc/connect";
import type { Call, Endpoint } from "./endpoint.ts";
import { appendTo, withMetadata } from "./metadata.ts";
import { rpcName } from "./rpc-name.ts";
import { RunningCall, runningCallOf } from "./running-call.ts";

/** What happens to a call on its way to the implementation. */
export interface EndpointOptions {
  /** See a call as soon as its headers are in, with an empty message; the first one is the outermost. */
  readonly callInterceptors: readonly Interceptor[];
  /** See a call when its message has been read; the first one is the outermost. */
  readonly messageInterceptors: readonly Interceptor[];
  /** Set for an endpoint of no real method, which records of calls do not name. */
  readonly isStandIn?: true;
}

type AnyFn = ReturnType<Interceptor>;
type Request = Parameters<AnyFn>[0];
type Response = UnaryResponse | StreamResponse;

/**
 * Makes an endpoint of an implementation: the interceptors are chained once, here, and not for each call.
 *
 * Connect's own handlers decode a message before any interceptor runs. Here the chain comes first, and its last link
 * reads the message: so what a caller sends who is not let in is never read.
 */
export function createEndpoint(spec: MethodImplSpec, options: EndpointOptions): Endpoint {
  const { method } = spec;
  const unread = create(method.input);
  const name = options.isStandIn ? undefined : rpcName(method);
  const answer = chain(options.messageInterceptors, implementation(spec));
  const run = chain(options.callInterceptors, async (request) => {
    const running = runningCallOf(request);
    running.message = await running.call.read(running.deadlineSignal);
    return await answer(running as Request);
  });

  async function call(call: Call): Promise<Response> {
    const running = new RunningCall(method, call, unread);
    const { record } = call.exchange;
    record.protocol = call.protocolName;
    record.method = name;
    try {
      const response = await run(running as Request);
      appendTo(response.header, running.answerHeader);
      return response.stream ? { ...response, message: ending(response.message, running) } : ended(response, running);
    } catch (error) {
      running.end();
      throw withMetadata(withMetadata(error, running.responseHeader), running.answerHeader);
    }
  }

  return { method, call } as Endpoint;
}

function chain(interceptors: readonly Interceptor[], last: AnyFn): AnyFn {
  return interceptors.reduceRight<AnyFn>((next, interceptor) => interceptor(next), last);
}

/** The innermost link: has the implementation answer. */
function implementation(spec: MethodImplSpec): AnyFn {
  switch (spec.kind) {
    case "unary":
      return async (request) => {
        const running = runningCallOf(request);
        const message = create(spec.method.output, await spec.impl(running.message, running));
        return response(running, message);
      };
    case "server_streaming":
      return async (request) => {
        const running = runningCallOf(request);
        return response(running, await untilFirst(messages(spec.method.output, spec.impl(running.message, running))));
      };
    default:
      throw new Error(`${spec.method.toString()}: only unary and server-streaming methods can be endpoints`);
  }
}

function response(running: RunningCall, message: unknown): Response {
  const { service, method, responseHeader: header, responseTrailer: trailer } = running;
  const stream = (method as { methodKind: string }).methodKind === "server_streaming";
  return { stream, service, method, header, trailer, message } as Response;
}

async function* messages(
  desc: DescMessage,
  inits: AsyncIterable<MessageInitShape<DescMessage>>,
): AsyncGenerator<Message> {
  for await (const init of inits) {
    yield create(desc, init);
  }
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

function ended(response: UnaryResponse, running: RunningCall): UnaryResponse {
  running.end();
  return response;
}

/** A stream needs its deadline until it ends, or is given up. */
async function* ending<T>(messages: AsyncIterable<T>, running: RunningCall): AsyncGenerator<T> {
  try {
    yield* messages;
  } finally {
    running.end();
  }
}
