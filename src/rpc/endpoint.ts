import {
  create,
  createFileRegistry,
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  isFieldSet,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  EmptySchema,
  FileDescriptorSetSchema,
  file_google_protobuf_empty,
  MethodOptions_IdempotencyLevel,
} from "@bufbuild/protobuf/wkt";
import {
  createMethodImplSpec,
  createServiceImplSpec,
  type Interceptor,
  type MethodImplSpec,
  type ServiceImpl,
  type StreamRequest,
  type StreamResponse,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";
import { abortable } from "../scheduling/timing.ts";
import type { Call, CallHandler, CallInterceptor, CallResponse, ConnectRequest } from "./call.ts";
import { MessageGroup, PreparedMessage } from "./prepared-message.ts";

/** An RPC that any protocol can call: its method, and the chain of interceptors that ends in its implementation. */
export interface Endpoint<
  M extends DescMethodUnary | DescMethodServerStreaming = DescMethodUnary | DescMethodServerStreaming,
> {
  readonly method: M;
  /** The name in call records; undefined for an endpoint without a real method. */
  readonly name: string | undefined;
  /**
   * Runs the chain: call interceptors see the call as soon as its headers are in, then its message is read, then
   * message interceptors see it. Rejects with whatever any of them throws.
   */
  readonly handle: CallHandler;
}

/** An RPC with one request and one response. */
export type UnaryEndpoint = Endpoint<DescMethodUnary>;

/**
 * The interceptors of an endpoint. The first one is the outermost. Interceptors of the project are objects, Connect's
 * are functions.
 */
export interface EndpointOptions {
  /** See a call as soon as its headers are in, before its message is read. */
  readonly callInterceptors: readonly (CallInterceptor | Interceptor)[];
  /** See a call when its message has been read. */
  readonly messageInterceptors: readonly (CallInterceptor | Interceptor)[];
  /** Set for an endpoint without a real method. Call records do not name it. */
  readonly isSynthetic?: true;
}

/**
 * The methods of a service. Unlike Connect's `ServiceImpl`, a method gets the `Call` itself, and a unary method may
 * return a `PreparedMessage`. A streaming method returns a promise: the stream is open once it resolves, and a
 * rejection becomes the answer. When the call's signal aborts, the stream throws the signal's reason.
 */
export type ServiceMethods<S extends DescService> = {
  [P in keyof S["method"]]: (
    request: MessageShape<S["method"][P]["input"]>,
    call: Call,
  ) => Promise<
    S["method"][P] extends { readonly methodKind: "server_streaming" }
      ? StreamOf<S["method"][P]["output"]>
      : MessageInitShape<S["method"][P]["output"]> | PreparedMessage<MessageShape<S["method"][P]["output"]> & Message>
  >;
};

/** The messages of a stream. */
type StreamOf<Desc extends DescMessage> = AsyncIterable<
  MessageInitShape<Desc> | MessageGroup<MessageShape<Desc> & Message>
>;

/**
 * Makes an endpoint of an implementation. Interceptors are chained once, here.
 *
 * Connect's own handlers decode a message before any interceptor runs. Here the call interceptors run first. If they
 * refuse a caller, the body is never read.
 */
export function createEndpoint(spec: MethodImplSpec, options: EndpointOptions): Endpoint {
  const { callInterceptors, messageInterceptors, isSynthetic } = options;
  const answer = chain(messageInterceptors, implementation(spec, options), spec.method);
  const handle = chain(callInterceptors, readFirst(answer), spec.method);
  const method = spec.method as Endpoint["method"];
  return { method, name: isSynthetic ? undefined : rpcName(method), handle };
}

/** Makes an endpoint of each method of a service. */
export function createEndpoints<S extends DescService>(
  service: S,
  implementation: ServiceMethods<S>,
  options: EndpointOptions,
): Endpoint[] {
  const { methods } = createServiceImplSpec(service, implementation as Partial<ServiceImpl<DescService>>);
  return Object.values(methods).map((spec) => createEndpoint(spec, options));
}

function chain(interceptors: EndpointOptions["callInterceptors"], last: CallHandler, method: DescMethod): CallHandler {
  return interceptors.reduceRight<CallHandler>(
    (next, interceptor) =>
      typeof interceptor === "function" ? applyConnectInterceptor(interceptor, next) : interceptor.wrap(next, method),
    last,
  );
}

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
function applyConnectInterceptor(interceptor: Interceptor, next: CallHandler): CallHandler {
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

/** The request that a Connect interceptor sees: a plain object, so that it can be copied by `{...request}`. */
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

/** Reads the message of a call before `next`. The body is read once, even if an interceptor calls this again. */
function readFirst(next: CallHandler): CallHandler {
  return async (call) => {
    const { passedOn, deadline, head, original } = call;
    if (call.message === undefined) {
      // The reading fails by itself when the client goes away, so it needs only the signal of the deadline.
      const isOwnSignal = passedOn === undefined || passedOn.signal === call.signals.all;
      original.reading ??= head.read(isOwnSignal ? deadline?.signal : passedOn.signal);
      call.message = await original.reading;
    }
    return await next(call);
  };
}

/** The innermost handler, which calls the implementation. */
function implementation(spec: MethodImplSpec, options: EndpointOptions): CallHandler {
  const mustBeWhole = hasConnectInterceptor(options);
  switch (spec.kind) {
    case "unary":
      return unaryHandler(spec, mustBeWhole);
    case "server_streaming":
      return streamHandler(spec, mustBeWhole);
    default:
      throw new Error(`${spec.method.toString()}: only unary and server-streaming methods can be endpoints`);
  }
}

/** A method of one kind, with its implementation. */
type SpecOf<Kind extends MethodImplSpec["kind"]> = Extract<MethodImplSpec, { readonly kind: Kind }>;

function unaryHandler({ method, impl }: SpecOf<"unary">, mustBeWhole: boolean): CallHandler {
  // A write decides by itself at the deadline, because it may take effect later.
  const run: (message: Message, call: Call) => object | Promise<object> = hasNoSideEffects(method)
    ? (message, call) => abortable(async () => impl(message, call), call.deadline?.signal)
    : impl;
  return async (call) => {
    const result: object = await run(call.message as Message, call);
    const { responseHeader: header, responseTrailer: trailer } = call;
    if (!(result instanceof PreparedMessage)) {
      const message = create(method.output, result as MessageInitShape<DescMessage>);
      return { stream: false, header, trailer, message };
    }
    return { stream: false, header, trailer, message: mustBeWhole ? await result.whole() : result };
  };
}

function streamHandler({ method, impl }: SpecOf<"server_streaming">, mustBeWhole: boolean): CallHandler {
  return async (call) => {
    const { responseHeader: header, responseTrailer: trailer } = call;
    // A method of `ServiceMethods` gives a promise, which Connect's type does not say.
    const opening = impl(call.message as Message, call) as unknown as Promise<StreamOf<DescMessage>>;
    const stream = await opening;
    endDeadlineWithClient(call);
    const message = messages(method.output, mustBeWhole ? takenApart(stream) : stream, call);
    return { stream: true, header, trailer, message };
  };
}

/** Whether the protos say that calls of the method change nothing. */
export function hasNoSideEffects({ idempotency }: DescMethod): boolean {
  return idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

function hasConnectInterceptor({ callInterceptors, messageInterceptors }: EndpointOptions): boolean {
  return [...callInterceptors, ...messageInterceptors].some((interceptor) => typeof interceptor === "function");
}

async function* takenApart(stream: StreamOf<DescMessage>): AsyncGenerator<MessageInitShape<DescMessage>> {
  for await (const item of stream) {
    if (item instanceof MessageGroup) {
      yield* item.messages;
    } else {
      yield item;
    }
  }
}

/**
 * Stops the timer of a stream's deadline when the client goes away. In that case nobody may ever begin to read the
 * messages.
 */
function endDeadlineWithClient({ deadline, exchange }: Call): void {
  if (deadline === undefined) {
    return;
  }
  const { signal } = exchange;
  if (signal.aborted) {
    deadline.end();
  }
  signal.addEventListener("abort", () => deadline.end());
}

/** The messages that a stream sends. The timer of its deadline runs until it ends. */
async function* messages(
  desc: DescMessage,
  stream: StreamOf<DescMessage>,
  { deadline }: Call,
): AsyncGenerator<Message | MessageGroup> {
  try {
    for await (const item of stream) {
      yield item instanceof MessageGroup ? item : create(desc, item);
    }
  } finally {
    deadline?.end();
  }
}

/** The full name of an RPC: `package.Service/Method`. */
export function rpcName({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}

/** Where an RPC is called over Connect, gRPC and gRPC-Web: `/package.Service/Method`. */
export function rpcPath(method: DescMethod): string {
  return `/${rpcName(method)}`;
}

/**
 * Makes the endpoint of requests that match no method. They pass the same call interceptors as all others, so they are
 * counted, and answered with the same headers. Then the reading of their message throws the refusal.
 */
export function createNotFoundEndpoint(options: Pick<EndpointOptions, "callInterceptors">): UnaryEndpoint {
  const spec = createMethodImplSpec(syntheticMethod(), () => create(EmptySchema));
  return createEndpoint(spec, { ...options, messageInterceptors: [], isSynthetic: true }) as UnaryEndpoint;
}

/**
 * Reads the message of a request that matches no method: throws `refusal`, or returns an empty message. `refusal` is
 * undefined for OPTIONS with a valid head, which gets an answer.
 */
export async function readNotFound(refusal: Error | undefined) {
  if (refusal !== undefined) {
    throw refusal;
  }
  return create(EmptySchema);
}

/** A method without options, since interceptors expect every call to have a method. */
function syntheticMethod(): DescMethodUnary {
  const empty = `.${EmptySchema.typeName}`;
  const files = createFileRegistry(
    create(FileDescriptorSetSchema, {
      file: [
        file_google_protobuf_empty.proto,
        {
          name: "synthetic.proto",
          package: "synthetic",
          dependency: [file_google_protobuf_empty.proto.name],
          service: [{ name: "Synthetic", method: [{ name: "NotFound", inputType: empty, outputType: empty }] }],
        },
      ],
    }),
  );
  return files.getService("synthetic.Synthetic")?.method.notFound as DescMethodUnary;
}
