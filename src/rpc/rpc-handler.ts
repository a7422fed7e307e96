import { createRegistry, type Registry } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";
import { assertAuthority } from "../http/authority.ts";
import type { Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { createJsonCodec } from "./codec.ts";
import { connectProtocol } from "./connect.ts";
import type { UnaryEndpoint } from "./endpoint.ts";
import { grpcProtocol } from "./grpc.ts";
import { grpcWebProtocol } from "./grpc-web.ts";
import { withMetadata } from "./metadata.ts";
import { rpcPath } from "./rpc-name.ts";
import type { RpcFormat, UnaryProtocol } from "./unary-protocol.ts";
import { callUnrouted } from "./unrouted.ts";

/** What the RPC handler serves. */
export interface RpcOptions {
  readonly endpoints: readonly UnaryEndpoint[];
  /** Ends the requests that no method takes. */
  readonly unrouted: UnaryEndpoint;
  /** The size of the largest message that is read, in bytes, after decompression. */
  readonly readMaxBytes: number;
  /** Where the types in an `Any` are looked up; without it there are none. */
  readonly registry?: Registry;
  /** Makes an error that clients may see of whatever was thrown, what the interceptors let through included. */
  readonly toError: (reason: unknown, exchange: Exchange) => ConnectError;
}

/** Answers RPCs over Connect, gRPC and gRPC-Web. */
export interface RpcHandler {
  /** Whether the request is one for an RPC, be it served here or not. */
  isRpc(exchange: Exchange): boolean;
  /** Whether a path is that of an RPC which is served here. */
  serves(path: string): boolean;
  /** Answers the request, whatever it is. */
  handle(exchange: Exchange): Promise<void>;
}

/** Makes the handler. */
export function createRpcHandler(options: RpcOptions): RpcHandler {
  const { endpoints, readMaxBytes, registry = createRegistry() } = options;
  const serving: Serving = { ...options, format: { readMaxBytes, json: createJsonCodec(registry), registry } };
  const routes = new Map(endpoints.map((endpoint) => [rpcPath(endpoint.method), endpoint]));
  const packages = [...new Set(endpoints.map(({ method }) => `/${method.parent.file.proto.package}.`))];

  return {
    isRpc(exchange) {
      const isGrpc = exchange.header("content-type")?.startsWith("application/grpc") ?? false;
      return isGrpc || packages.some((prefix) => exchange.path.startsWith(prefix));
    },
    serves: (path) => routes.has(path),
    handle(exchange) {
      const endpoint = routes.get(exchange.path);
      if (endpoint === undefined) {
        return refuse(exchange, unknownRoute(), serving);
      }
      const allowed = allowedMethods(endpoint, protocolOf(exchange));
      if (exchange.method === "OPTIONS") {
        return answerOptions(exchange, allowed, serving);
      }
      return allowed.includes(exchange.method)
        ? serve(exchange, endpoint, serving)
        : refuse(exchange, methodNotAllowed(allowed), serving);
    },
  };
}

interface Serving extends RpcOptions {
  readonly format: RpcFormat;
}

/** The one way of every call over every protocol. */
async function serve(exchange: Exchange, endpoint: UnaryEndpoint, { format, toError }: Serving): Promise<void> {
  const protocol = protocolOf(exchange);
  const call = protocol.open(exchange, format);
  const responseTrailer = new HeaderList();
  let header: Headers | undefined;
  try {
    const response = await endpoint.call({
      exchange,
      protocolName: protocol.name,
      timeoutMs: call.timeoutMs,
      responseTrailer,
      async read(deadline) {
        const input = await call.read(endpoint.method.input, deadline);
        assertAuthority(exchange.authority);
        return input;
      },
    });
    header = response.header;
    await call.answer(endpoint.method, response);
  } catch (reason) {
    await call.fail(withMetadata(toError(reason, exchange), header), responseTrailer);
  }
}

async function refuse(exchange: Exchange, refusal: ProtocolError, options: Serving): Promise<void> {
  const protocol = protocolOf(exchange);
  const call = protocol.open(exchange, options.format);
  try {
    await callUnrouted(options.unrouted, { exchange, protocolName: protocol.name, refusal });
  } catch (reason) {
    await call.fail(options.toError(reason, exchange));
  }
}

async function answerOptions(exchange: Exchange, allowed: readonly string[], options: Serving): Promise<void> {
  const protocolName = connectProtocol.name;
  try {
    const header = await callUnrouted(options.unrouted, { exchange, protocolName, refusal: undefined });
    header.set("allow", allowed.join(", "));
    await exchange.respond({ status: 204, header });
  } catch (reason) {
    await connectProtocol.open(exchange, options.format).fail(options.toError(reason, exchange));
  }
}

function protocolOf(exchange: Exchange): UnaryProtocol {
  const contentType = exchange.header("content-type") ?? "";
  if (/^application\/grpc-web(\+[^;]*)?\s*(;|$)/i.test(contentType)) {
    return grpcWebProtocol;
  }
  return /^application\/grpc(\+[^;]*)?\s*(;|$)/i.test(contentType) ? grpcProtocol : connectProtocol;
}

/** POST always; over Connect GET, and HEAD with it, where the method has no side effects. */
function allowedMethods({ method }: UnaryEndpoint, protocol: UnaryProtocol): readonly string[] {
  const isSafe = protocol === connectProtocol && method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  return isSafe ? ["GET", "HEAD", "POST", "OPTIONS"] : ["POST", "OPTIONS"];
}

function unknownRoute(): ProtocolError {
  return new ProtocolError("unknown_route", "There is no such RPC. Check the service and method in the path.");
}

function methodNotAllowed(allowed: readonly string[]): ProtocolError {
  const allow = allowed.join(", ");
  return new ProtocolError("method_not_allowed", `This RPC is called with one of: ${allow}.`, { allow });
}
