import { createRegistry, type Registry } from "@bufbuild/protobuf";
import type { Answer, Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { answerCall, type ToError } from "./call.ts";
import { createJsonCodec } from "./codec.ts";
import { connectProtocol } from "./connect.ts";
import { type Endpoint, hasNoSideEffects, readNotFound, rpcPath, type UnaryEndpoint } from "./endpoint.ts";
import { grpcProtocol, grpcWebProtocol } from "./grpc.ts";
import type { RpcFormat, RpcProtocol, RpcRequest } from "./rpc-protocol.ts";

/** What the RPC handler serves. */
interface RpcOptions {
  readonly endpoints: readonly Endpoint[];
  /** Answers OPTIONS, and refuses requests that match no method. */
  readonly notFoundEndpoint: UnaryEndpoint;
  /** The size of the largest message that is read, in bytes, after decompression. */
  readonly readMaxBytes: number;
  /** Where the types in an `Any` are looked up; without it there are none. */
  readonly registry?: Registry;
  readonly toError: ToError;
}

/** Answers RPCs over Connect, gRPC and gRPC-Web. */
export interface RpcHandler {
  /**
   * Reads the protocol from the headers. Returns undefined if the request is not for an RPC; an unknown RPC counts as
   * one.
   */
  recognize(exchange: Exchange): RpcRequest | undefined;
  /** Whether an RPC is served at a path. */
  serves(path: string): boolean;
  /** Makes the answer to a request for an RPC. */
  answer(request: RpcRequest): Promise<Answer>;
  /** Makes the answer to a request that fails for this reason, whatever the call and its key are. */
  refuse(request: RpcRequest, reason: unknown): Promise<Answer>;
}

export function createRpcHandler(options: RpcOptions): RpcHandler {
  const { endpoints, readMaxBytes, registry = createRegistry(), toError } = options;
  const serving: Serving = { ...options, format: { readMaxBytes, json: createJsonCodec(registry), registry, toError } };
  const routes = new Map(endpoints.map((endpoint) => [rpcPath(endpoint.method), endpoint]));
  const packages = [...new Set(endpoints.map(({ method }) => `/${method.parent.file.proto.package}.`))];

  return {
    recognize(exchange) {
      const contentType = exchange.header("content-type");
      const protocol = protocolOf(contentType);
      return protocol !== connectProtocol || packages.some((prefix) => exchange.path.startsWith(prefix))
        ? { exchange, contentType, protocol }
        : undefined;
    },
    serves: (path) => routes.has(path),
    answer(request) {
      const { exchange, protocol } = request;
      const endpoint = routes.get(exchange.path);
      if (endpoint === undefined) {
        return refuse(request, unknownRoute(), serving);
      }
      const allowed = allowedMethods(endpoint, protocol);
      if (exchange.method === "OPTIONS") {
        return answerOptions(exchange, allowed, serving);
      }
      return allowed.includes(exchange.method)
        ? serve(request, endpoint, serving)
        : refuse(request, methodNotAllowed(allowed), serving);
    },
    refuse(request, reason) {
      const { exchange, protocol } = request;
      const { method } = routes.get(exchange.path) ?? options.notFoundEndpoint;
      exchange.record.protocol = protocol.name;
      // The answer has the type of the request, which may be one of the headers that are too large.
      const contentType = request.contentType?.replace(/;.*/s, "").trimEnd();
      const call = protocol.open({ ...request, contentType }, method, serving.format);
      return call.fail(toError(reason, exchange), new HeaderList(), new HeaderList());
    },
  };
}

interface Serving extends RpcOptions {
  readonly format: RpcFormat;
}

function serve(request: RpcRequest, endpoint: Endpoint, { format, toError }: Serving): Promise<Answer> {
  return answerCall(endpoint, request.protocol.open(request, endpoint.method, format), toError);
}

function refuse(request: RpcRequest, refusal: ProtocolError, serving: Serving): Promise<Answer> {
  const { notFoundEndpoint, format, toError } = serving;
  const call = request.protocol.open(request, notFoundEndpoint.method, format);
  return answerCall(notFoundEndpoint, { ...call, timeoutMs: undefined, read: () => readNotFound(refusal) }, toError);
}

/** Answers OPTIONS in the Connect protocol, whatever the content type. */
function answerOptions(exchange: Exchange, allowed: readonly string[], serving: Serving): Promise<Answer> {
  const { notFoundEndpoint, format, toError } = serving;
  const request = { exchange, protocol: connectProtocol, contentType: undefined };
  return answerCall(
    notFoundEndpoint,
    {
      ...connectProtocol.open(request, notFoundEndpoint.method, format),
      timeoutMs: undefined,
      read: () => readNotFound(exchange.fault),
      async answer(_response, header) {
        header.set("allow", allowed.join(", "));
        return { status: 204, header };
      },
    },
    toError,
  );
}

/** The protocol that a content type names: Connect, unless it is one of gRPC or gRPC-Web, in whatever case. */
export function protocolOf(contentType = ""): RpcProtocol {
  if (/^application\/grpc-web(\+[^;]*)?\s*(;|$)/i.test(contentType)) {
    return grpcWebProtocol;
  }
  return /^application\/grpc(\+[^;]*)?\s*(;|$)/i.test(contentType) ? grpcProtocol : connectProtocol;
}

const postOnly: readonly string[] = ["POST", "OPTIONS"];

/** POST, and over Connect also GET and HEAD if the method is unary and has no side effects. */
function allowedMethods({ method }: Endpoint, protocol: RpcProtocol): readonly string[] {
  return hasNoSideEffects(method) && protocol === connectProtocol && method.methodKind === "unary"
    ? ["GET", "HEAD", "POST", "OPTIONS"]
    : postOnly;
}

function unknownRoute(): ProtocolError {
  return new ProtocolError("unknown_route", "There is no such RPC. Check the service and method in the path.");
}

function methodNotAllowed(allowed: readonly string[]): ProtocolError {
  const allow = allowed.join(", ");
  return new ProtocolError("method_not_allowed", `This RPC is called with one of: ${allow}.`, { allow });
}
