import { ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { canonicalName } from "../interceptors/errors.ts";
import type { ToError } from "../rpc/call.ts";
import { createEndpoints, createNotFoundEndpoint } from "../rpc/endpoint.ts";
import { createRpcHandler, type RpcHandler } from "../rpc/rpc-handler.ts";

/** The largest message, in bytes. It is many times the name of any service. */
const readMaxBytes = 4 * 1024;

/**
 * Answers the unary calls of health. They need no key, and count towards no limit. They take the way of the API's
 * calls, because Connect's handlers answer undecodable messages with an internal error. `toError` converts all errors
 * except those of health itself.
 */
export function createHealthCalls(implementation: ServiceImpl<typeof Health>, toError: ToError): RpcHandler {
  const toHealthError: ToError = (reason, exchange) => {
    if (!(reason instanceof ConnectError) || reason instanceof ProtocolError) {
      return toError(reason, exchange);
    }
    exchange.record.code = canonicalName(reason.code);
    return reason;
  };
  const options = { callInterceptors: [], messageInterceptors: [] };
  return createRpcHandler({
    endpoints: createEndpoints(Health, implementation, options).filter(({ method }) => method.methodKind === "unary"),
    notFoundEndpoint: createNotFoundEndpoint(options),
    readMaxBytes,
    toError: toHealthError,
  });
}
