import type { DescService } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createConnectRouter,
  createContextKey,
  createContextValues,
  createMethodImplSpec,
  type Interceptor,
  type ServiceImpl,
} from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { file_petstore_v1_error_reason } from "../../gen/petstore/v1/error_reason_pb.ts";
import type { DomainError, ErrorCode } from "../domain/errors.ts";
import type { Answer, CallRecord, Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { canonicalName, codeOfDetails, toClientFault, toConnectError } from "../interceptors/errors.ts";
import { AnonymousStreams } from "../interceptors/streams.ts";
import type { ToError } from "../rpc/call.ts";
import { compressions } from "../rpc/compression.ts";
import { createEndpoint, createNotFoundEndpoint } from "../rpc/endpoint.ts";
import { refuseCompressed } from "../rpc/envelope.ts";
import { assertKnownCodec } from "../rpc/grpc.ts";
import { createRpcHandler, protocolOf, type RpcHandler } from "../rpc/rpc-handler.ts";
import type { RpcRequest } from "../rpc/rpc-protocol.ts";
import { abortable } from "../scheduling/timing.ts";
import { reflectionService } from "../services/grpc-tools.ts";

/** The largest message, in bytes. It is many times what any client needs. */
const readMaxBytes = 4 * 1024;

/** The largest body over HTTP/1.1, where the whole request comes before the answer, in bytes. */
const wholeMaxBytes = 64 * 1024;

/** The services that are served beside the API. */
export const toolServices = [Health, ServerReflection, ServerReflectionAlpha] as const;

/** What the services need. */
interface ConnectServicesOptions {
  readonly services: readonly DescService[];
  readonly reflection: boolean;
  readonly health: ServiceImpl<typeof Health>;
  /** Refuses what Connect's handlers would refuse outside of gRPC. */
  readonly calls: RpcHandler;
  /** Aborts when the server stops serving; it ends their streams. */
  readonly stopping: AbortSignal;
}

/** Answers the streaming methods of health and reflection, by Connect's own handlers. */
export interface ConnectServices {
  serves(path: string): boolean;
  /** Makes the answer. Rejects with the fault of the head of a call over Connect, if there is one. */
  answer(exchange: Exchange): Promise<Answer>;
}

/** Makes the services. Their methods need no key, and count towards no limit. */
export function createConnectServices(options: ConnectServicesOptions): ConnectServices {
  const { calls } = options;
  const handlers = createHandlers(options);
  const openStreams = new AnonymousStreams();
  return {
    serves: (path) => handlers.has(path),
    async answer(exchange) {
      const { record, signal } = exchange;
      const contentType = exchange.header("content-type") ?? "";
      const { name: protocol } = protocolOf(contentType);
      record.protocol = protocol;
      record.method = exchange.path.slice(1);
      record.isStream = true;
      const call = protocol === "connect" ? undefined : calls.recognize(exchange);
      try {
        assertTaken(exchange, call);
      } catch (reason) {
        if (call === undefined) {
          throw reason;
        }
        return await calls.refuse(call, reason);
      }
      const { refusal, leave } = openStreams.enter(exchange.clientAddress);
      // The body of an answer is not read to its end if the client has gone away.
      signal.addEventListener("abort", leave);
      const handler = handlers.get(exchange.path) as UniversalHandler;
      const answering = answerByConnect(handler, exchange, refusal);
      const {
        body,
        header: connectHeader,
        ...rest
      } = await answering.catch((reason: unknown) => {
        leave();
        throw reason;
      });
      const header = new HeaderList(connectHeader ?? new Headers());
      // Connect closes the connection after a 505. But the exchange decides whether a connection goes on, because it
      // knows what follows.
      header.delete("connection");
      record.code = codeOfStatus[rest.status] ?? record.code;
      if (body === undefined) {
        leave();
        return { header, ...rest };
      }
      return { header, body: callAtEnd(body, leave), ...rest };
    },
  };
}

/** Throws the fault of the head, if there is one, and for another method than POST, or an unknown codec of gRPC. */
function assertTaken({ fault, method }: Exchange, call: RpcRequest | undefined): void {
  if (fault !== undefined) {
    throw fault;
  }
  if (method !== "POST") {
    throw new ProtocolError("method_not_allowed", "This RPC is called with POST.", { allow: "POST" });
  }
  if (call !== undefined) {
    assertKnownCodec(call.contentType ?? "");
  }
}

async function* callAtEnd<T>(items: AsyncIterable<T>, ended: () => void): AsyncGenerator<T> {
  try {
    yield* items;
  } finally {
    ended();
  }
}

/** Yields what comes. Throws `unavailable` when the server stops, even if nothing comes any more, and records that. */
async function* untilStopped<T>(
  items: AsyncIterable<T>,
  stopping: AbortSignal,
  record: CallRecord | undefined,
): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const item = await abortable(() => iterator.next(), stopping);
      if (item.done === true) {
        return;
      }
      yield item.value;
    }
  } catch (reason) {
    throw stopping.aborted ? stopped(record) : reason;
  } finally {
    // It ends once the item that is awaited has come, for which nobody waits.
    iterator.return?.().catch(() => {});
  }
}

/** Yields all items. Throws `unavailable` if they end because the server stops, and records that. */
async function* throwIfStopped<T>(
  items: AsyncIterable<T>,
  stopping: AbortSignal,
  record: CallRecord | undefined,
): AsyncGenerator<T> {
  yield* items;
  if (stopping.aborted) {
    throw stopped(record);
  }
}

/** The end of a stream because the server stops. Notes on the record that it is no failure. */
function stopped(record: CallRecord | undefined): ConnectError {
  if (record !== undefined) {
    record.isStopped = true;
  }
  return new ConnectError("The server stops. Open the stream again.", Code.Unavailable);
}

/** The unary methods of health. */
type UnaryHealth = Pick<ServiceImpl<typeof Health>, "check" | "list">;

/**
 * Answers the unary calls of health. They need no key, and count towards no limit. They take the way of the API's
 * calls, because Connect's handlers answer undecodable messages with an internal error. `toError` converts all errors
 * except those of health itself.
 */
export function createHealthCalls({ check, list }: UnaryHealth, toError: ToError): RpcHandler {
  const toHealthError: ToError = (reason, exchange) => {
    if (!(reason instanceof ConnectError) || reason instanceof ProtocolError) {
      return toError(reason, exchange);
    }
    exchange.record.code = canonicalName(reason.code);
    return reason;
  };
  const options = { callInterceptors: [], messageInterceptors: [] };
  return createRpcHandler({
    endpoints: [
      createEndpoint(createMethodImplSpec(Health.method.check, check), options),
      createEndpoint(createMethodImplSpec(Health.method.list, list), options),
    ],
    notFoundEndpoint: createNotFoundEndpoint(options),
    readMaxBytes,
    toError: toHealthError,
  });
}

type UniversalHandler = ReturnType<typeof createConnectRouter>["handlers"][number];

/** Connect's handlers of the streaming methods, by path. */
function createHandlers(options: ConnectServicesOptions): ReadonlyMap<string, UniversalHandler> {
  const { services, reflection, health, stopping } = options;
  const router = createConnectRouter({
    interceptors: [recordErrorCode, decodeErrorsAsInvalidArgument, refuse],
    acceptCompression: compressions,
    readMaxBytes,
    shutdownSignal: stopping,
  });
  router.service(Health, {
    ...health,
    watch: (request, context) =>
      throwIfStopped(health.watch(request, context), stopping, context.values.get(callKey)?.record),
  });
  if (reflection) {
    const reflected = [...services, ...toolServices];
    const details = [file_google_rpc_error_details, file_petstore_v1_error_reason];
    const reflect = reflectionService(reflected, details);
    const implementation: ServiceImpl<typeof ServerReflection> = {
      serverReflectionInfo: (requests, context) =>
        reflect.serverReflectionInfo(untilStopped(requests, stopping, context.values.get(callKey)?.record), context),
    };
    router.service(ServerReflection, implementation);
    // The two versions differ in nothing but their names.
    router.service(ServerReflectionAlpha, implementation as unknown as ServiceImpl<typeof ServerReflectionAlpha>);
  }
  const streams = router.handlers.filter(({ method }) => method.methodKind !== "unary");
  return new Map(streams.map((handler) => [handler.requestPath, handler]));
}

/** Lets Connect make the answer to a call. */
async function answerByConnect(
  handler: UniversalHandler,
  exchange: Exchange,
  refusal: DomainError | undefined,
): Promise<ReturnType<UniversalHandler>> {
  const { httpVersion, method, path, requestHeader, signal, record } = exchange;
  const pieces = httpVersion === "2" ? arriving(exchange) : whole(exchange);
  const [encodingHeader, acceptHeader] =
    record.protocol === "connect"
      ? ["connect-content-encoding", "connect-accept-encoding"]
      : ["grpc-encoding", "grpc-accept-encoding"];
  // Connect refuses a content type with parameters.
  requestHeader.set("content-type", requestHeader.get("content-type")?.replace(/;.*/s, "").trimEnd() ?? "");
  const encoding = requestHeader.get(encodingHeader) || "identity";
  // Connect takes an empty name for that of an unknown compression.
  requestHeader.set(encodingHeader, encoding);
  const isNamed = encoding !== "identity";
  if (isNamed && !compressions.some(({ name }) => name === encoding)) {
    // Connect refuses the call, and leaves out what it would take.
    exchange.addHeader(acceptHeader, compressions.map(({ name }) => name).join(", "));
  }
  return await handler({
    httpVersion,
    method,
    // Connect reads the path alone, and its URL parser throws for some hosts that HTTP allows.
    url: `http://localhost${path}`,
    header: requestHeader,
    body: isNamed ? pieces : refuseCompressed(pieces),
    signal,
    contextValues: createContextValues().set(callKey, { record, refusal }),
  });
}

/**
 * Asks for the body, and yields it as it arrives. Connect may stop reading before the end. The exchange takes care of
 * the rest.
 */
async function* arriving(exchange: Exchange): AsyncGenerator<Uint8Array> {
  exchange.askForBody();
  yield* exchange.incoming.stream.iterator({ destroyOnReturn: false });
}

/**
 * Yields the body in one piece, once all of it has come. Over HTTP/1.1 it comes before the answer, and has the time
 * that the body of any call has.
 */
async function* whole(exchange: Exchange): AsyncGenerator<Uint8Array> {
  yield await exchange.readBody(wholeMaxBytes);
}

/** A call that Connect's own handlers answer. */
interface ConnectCall {
  readonly record: CallRecord;
  /** Why it is refused. */
  readonly refusal: DomainError | undefined;
}

const callKey = createContextKey<ConnectCall | undefined>(undefined, { description: "call" });

/** Refuses calls that have a refusal, so that the answer follows its protocol. */
const refuse: Interceptor = (next) => async (request) => {
  const refusal = request.contextValues.get(callKey)?.refusal;
  if (refusal !== undefined) {
    throw toConnectError(refusal);
  }
  return await next(request);
};

/** Records the code of a failed call. Most calls fail while their messages are pulled. */
const recordErrorCode: Interceptor = (next) => async (request) => {
  const record = request.contextValues.get(callKey)?.record;
  try {
    const response = await next(request);
    return response.stream ? { ...response, message: noteFailure(response.message, record) } : response;
  } catch (reason) {
    note(reason, record);
    throw reason;
  }
};

async function* noteFailure<T>(messages: AsyncIterable<T>, record: CallRecord | undefined): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (reason) {
    note(reason, record);
    throw reason;
  }
}

function note(reason: unknown, record: CallRecord | undefined): void {
  if (record !== undefined) {
    const error = ConnectError.from(reason, Code.Internal);
    record.code = codeOfDetails(error.details) ?? canonicalName(error.code);
  }
}

/** The codes of requests that Connect's handlers refuse before any interceptor runs. */
const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  404: "ROUTE_NOT_FOUND",
  415: "MEDIA_TYPE_UNSUPPORTED",
  505: "INVALID_REQUEST",
};

/** A message of a stream that cannot be decoded is the client's fault. */
const decodeErrorsAsInvalidArgument: Interceptor = (next) => async (request) =>
  await next(request.stream ? { ...request, message: mapErrors(request.message) } : request);

async function* mapErrors<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (reason) {
    throw reason instanceof ProtocolError ? toConnectError(reason) : toClientFault(ConnectError.from(reason));
  }
}
