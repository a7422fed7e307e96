import { create } from "@bufbuild/protobuf";
import { EmptySchema, MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { assertAuthority } from "../http/authority.ts";
import type { Exchange } from "../http/exchange.ts";
import { connectProtocol } from "./connect.ts";
import type { UnaryEndpoint } from "./endpoint.ts";
import { grpcProtocol } from "./grpc.ts";
import { grpcWebProtocol } from "./grpc-web.ts";
import { ProtocolError } from "./protocol-error.ts";
import type { UnaryProtocol } from "./unary-protocol.ts";

/** What the RPC handler serves. */
export interface RpcOptions {
  readonly endpoints: readonly UnaryEndpoint[];
  /** Ends the requests that no method takes. */
  readonly unrouted: UnaryEndpoint;
  /** The size of the largest message that is read, in bytes, after decompression. */
  readonly readMaxBytes: number;
}

/** Answers RPCs over Connect, gRPC and gRPC-Web. */
export interface RpcHandler {
  /** Whether the request is one for an RPC, be it served here or not. */
  isRpc(exchange: Exchange): boolean;
  /** Answers the request, whatever it is. */
  handle(exchange: Exchange): Promise<void>;
}

/** Makes the handler. The endpoints' paths are `/package.Service/Method`. */
export function createRpcHandler({ endpoints, unrouted, readMaxBytes }: RpcOptions): RpcHandler {
  const routes = new Map(endpoints.map((endpoint) => [rpcPath(endpoint), endpoint]));
  const packages = [...new Set(endpoints.map(({ method }) => `/${method.parent.file.proto.package}.`))];

  /** The one way of every call over every protocol. `refusal` is what its reading ends in, where it is not to be read. */
  async function serve(exchange: Exchange, endpoint: UnaryEndpoint, refusal?: ProtocolError): Promise<void> {
    const protocol = protocolOf(exchange);
    const call = protocol.open(exchange, readMaxBytes);
    try {
      const response = await endpoint.call({
        exchange,
        protocolName: protocol.name,
        timeoutMs: call.timeoutMs,
        async read(signal) {
          if (refusal !== undefined) {
            throw refusal;
          }
          const input = await call.read(endpoint.method.input, signal);
          assertAuthority(exchange.authority);
          return input;
        },
      });
      await call.answer(endpoint.method, response);
    } catch (error) {
      await call.fail(ConnectError.from(error, Code.Internal));
    }
  }

  async function answerOptions(exchange: Exchange, allowed: readonly string[]): Promise<void> {
    const call = connectProtocol.open(exchange, readMaxBytes);
    const read = () => Promise.resolve(create(EmptySchema));
    try {
      const { header } = await unrouted.call({ exchange, protocolName: connectProtocol.name, read });
      header.set("allow", allowed.join(", "));
      await exchange.respond({ status: 204, header });
    } catch (error) {
      await call.fail(ConnectError.from(error, Code.Internal));
    }
  }

  return {
    isRpc(exchange) {
      const isGrpc = exchange.header("content-type")?.startsWith("application/grpc") ?? false;
      return isGrpc || packages.some((prefix) => exchange.path.startsWith(prefix));
    },
    async handle(exchange) {
      const endpoint = routes.get(exchange.path);
      if (endpoint === undefined) {
        return serve(exchange, unrouted, unknownRoute());
      }
      const allowed = allowedMethods(endpoint);
      if (exchange.method === "OPTIONS") {
        return answerOptions(exchange, allowed);
      }
      return allowed.includes(exchange.method)
        ? serve(exchange, endpoint)
        : serve(exchange, unrouted, methodNotAllowed(allowed));
    },
  };
}

function rpcPath({ method }: UnaryEndpoint): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function protocolOf(exchange: Exchange): UnaryProtocol {
  const contentType = exchange.header("content-type") ?? "";
  if (/^application\/grpc-web(\+(proto|json))?\s*(;|$)/i.test(contentType)) {
    return grpcWebProtocol;
  }
  return /^application\/grpc(\+(proto|json))?\s*(;|$)/i.test(contentType) ? grpcProtocol : connectProtocol;
}

/** POST always; GET, and HEAD with it, where the method has no side effects. */
function allowedMethods({ method }: UnaryEndpoint): readonly string[] {
  const isSafe = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  return isSafe ? ["GET", "HEAD", "POST", "OPTIONS"] : ["POST", "OPTIONS"];
}

function unknownRoute(): ProtocolError {
  return new ProtocolError("unknown_route", "There is no such RPC. Check the service and method in the path.");
}

function methodNotAllowed(allowed: readonly string[]): ProtocolError {
  const allow = allowed.join(", ");
  return new ProtocolError("method_not_allowed", `This RPC is called with one of: ${allow}.`, { allow });
}
