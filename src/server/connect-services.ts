import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { DescService } from "@bufbuild/protobuf";
import { createConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { file_petstore_v1_error_reason } from "../../gen/petstore/v1/error_reason_pb.ts";
import type { NodeHandler } from "../http/listener.ts";
import { drainWithinBounds, preventAutoDrain } from "../http/node-faults/http1-unread-body.ts";
import { resetUnreadRequest } from "../http/node-faults/http2-unread-request.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { authorityFault, parseTarget } from "../http/target.ts";
import type { CallObserver } from "../observability/call-observer.ts";
import type { Tracing } from "../observability/tracing.ts";
import { reflectionService } from "../services/reflection.ts";
import { ConnectCall, type ConnectCallOptions, recordErrorCode, refuse } from "./connect-call.ts";
import { OpenStreams } from "./open-streams.ts";
import { refusalAnswer } from "./refusal.ts";
import { decodeErrorsAsInvalidArgument, refuseCompressed } from "./stream-faults.ts";

/** The largest message of a stream, in bytes. It is many times what any client needs. */
const readMaxBytes = 4 * 1024;

/** The headers that name the compression of messages in a stream, over Connect and over gRPC. */
const encodingHeaders = ["connect-content-encoding", "grpc-encoding"];

/** The services that are served beside the API. */
export const toolServices = [Health, ServerReflection, ServerReflectionAlpha] as const;

/** What the services need. */
export interface ConnectServicesOptions extends ConnectCallOptions {
  readonly services: readonly DescService[];
  readonly reflection: boolean;
  readonly health: ServiceImpl<typeof Health>;
  /** Aborts when the server stops serving; it ends their streams. */
  readonly stopping: AbortSignal;
  /** Is told of every call when it has ended. */
  readonly observer: CallObserver;
  readonly tracing: Tracing | undefined;
}

/**
 * Makes the handler of the streaming methods of health and reflection. They need no key, and count towards no limit.
 * Connect's own handlers answer them.
 */
export function createConnectServices(options: ConnectServicesOptions): NodeHandler {
  const { observer, tracing } = options;
  const handlers = createHandlers(options);
  const openStreams = new OpenStreams();

  async function answer({ request, response, call, authority }: NodeCall): Promise<void> {
    const ended = call.answeredBy(response);
    const place = openStreams.enter(call.clientAddress);
    boundBody(request, response);
    const handler = handlers.get(call.path) as UniversalHandler;
    call.refusedFor(place.refusal);
    answerByConnect(handler, { request, response, call, authority }).catch((reason: unknown) => {
      if (reason instanceof ProtocolError) {
        call.record.code = answerRefused(response, reason);
      } else if (!response.headersSent) {
        response.destroy();
      }
    });
    await ended;
    place.leave();
    observer.ended(call);
  }

  return {
    paths: new Set(handlers.keys()),
    handle(request, response) {
      const { path, authority = authorityOf(request) } = parseTarget(request.url ?? "");
      const call = new ConnectCall(request, path, options);
      const work = () => answer({ request, response, call, authority });
      void (tracing === undefined ? work() : tracing.run(call, work));
    },
  };
}

type UniversalHandler = ReturnType<typeof createConnectRouter>["handlers"][number];

/** Connect's handlers of the streaming methods, by path. */
function createHandlers(options: ConnectServicesOptions): ReadonlyMap<string, UniversalHandler> {
  const { services, reflection, health, stopping } = options;
  const router = createConnectRouter({
    interceptors: [recordErrorCode, decodeErrorsAsInvalidArgument, refuse],
    acceptCompression: [compressionGzip, compressionBrotli],
    readMaxBytes,
    shutdownSignal: stopping,
  });
  router.service(Health, health);
  if (reflection) {
    const reflected = [...services, ...toolServices];
    const details = [file_google_rpc_error_details, file_petstore_v1_error_reason];
    const implementation = reflectionService(reflected, details);
    router.service(ServerReflection, implementation);
    // The two versions differ in nothing but their names.
    router.service(ServerReflectionAlpha, implementation as unknown as ServiceImpl<typeof ServerReflectionAlpha>);
  }
  const streams = router.handlers.filter(({ method }) => method.methodKind !== "unary");
  return new Map(streams.map((handler) => [handler.requestPath, handler]));
}

/** A call for one of Connect's handlers. */
interface NodeCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly call: ConnectCall;
  readonly authority: string | undefined;
}

/** Lets Connect answer a call. Throws `malformed` for an invalid authority. */
async function answerByConnect(handler: UniversalHandler, nodeCall: NodeCall): Promise<void> {
  const { request, response, call, authority } = nodeCall;
  const fault = authorityFault(authority);
  if (fault !== undefined) {
    throw fault;
  }
  // Connect does not understand the absolute form, and its URL parser throws for some hosts that HTTP allows.
  request.url = call.path;
  request.headers.host = "localhost";
  if (request.headers[":authority"] !== undefined) {
    request.headers[":authority"] = "localhost";
  }
  // A client may go away when Connect no longer listens for it, as after the answer to half a request.
  request.on("error", () => {});
  response.on("error", () => {});
  const universal = universalRequestFromNodeRequest(request, response, undefined, call.contextValues);
  const isNamed = encodingHeaders.some((name) => (universal.header.get(name) ?? "identity") !== "identity");
  const body = isNamed ? universal.body : refuseCompressed(universal.body as AsyncIterable<Uint8Array>);
  await universalResponseToNodeResponse(await handler({ ...universal, body }), response);
}

/** Bounds the bytes that are taken of an unread body, as for other requests. Over HTTP/2 none are after the answer. */
function boundBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.httpVersionMajor === 1) {
    const connected = { request, socket: request.socket };
    // Connect stops reading when it answers. A request that is destroyed then takes its connection along.
    request[Symbol.asyncIterator] = () => request.iterator({ destroyOnReturn: false });
    preventAutoDrain(connected);
    response.once("finish", () => drainWithinBounds(connected));
  } else {
    const { stream } = request as unknown as Http2ServerRequest;
    stream.once("finish", () => resetUnreadRequest(stream));
  }
}

function authorityOf({ headers }: IncomingMessage): string | undefined {
  return (headers[":authority"] as string | undefined) ?? headers.host;
}

/** Returns the code of the refusal. */
function answerRefused(response: ServerResponse, reason: unknown): string {
  const { status, header, body, code } = refusalAnswer(reason);
  response.writeHead(status, { ...Object.fromEntries(header), "content-length": body.length });
  response.end(body);
  return code;
}
