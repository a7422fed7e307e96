import { ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { canonicalName } from "../interceptors/error-codes.ts";
import type { ToError } from "../rpc/answer-call.ts";
import { createUnaryEndpoints } from "../rpc/endpoint.ts";
import { createNotFoundEndpoint } from "../rpc/not-found-endpoint.ts";
import { createRpcHandler, type RpcHandler } from "../rpc/rpc-handler.ts";

/** The largest message that is read, in bytes: many times the name of any service. */
const readMaxBytes = 4 * 1024;

/**
 * Answers the unary calls of health: without a key, and not counted. They are read and written as the API's own, since
 * Connect's handlers would call what cannot be decoded an internal error, which it is not. `toError` makes the errors
 * of all but what health itself says.
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
    endpoints: createUnaryEndpoints(Health, implementation, options),
    notFoundEndpoint: createNotFoundEndpoint(options),
    readMaxBytes,
    toError: toHealthError,
  });
}
