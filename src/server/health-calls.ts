import type { DescService } from "@bufbuild/protobuf";
import { ConnectError, createServiceImplSpec, type ServiceImpl } from "@connectrpc/connect";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import type { Exchange } from "../http/exchange.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { canonicalName } from "../interceptors/error-codes.ts";
import { errorsInterceptor, type ToError } from "../interceptors/errors.ts";
import { createEndpoint } from "../rpc/create-endpoint.ts";
import type { UnaryEndpoint } from "../rpc/endpoint.ts";
import { createRpcHandler } from "../rpc/rpc-handler.ts";
import { createUnroutedEndpoint } from "../rpc/unrouted.ts";

/** The largest message that is read, in bytes: many times the name of any service. */
const readMaxBytes = 4 * 1024;

/** The unary calls of health: without a key, and not counted. */
export interface HealthCalls {
  readonly serves: (path: string) => boolean;
  readonly handle: (exchange: Exchange) => Promise<void>;
}

/**
 * Reads and writes them as the API's own: Connect's handlers would call what cannot be decoded an internal error, which
 * it is not. `toError` makes the errors of all but what health itself says.
 */
export function createHealthCalls(implementation: ServiceImpl<typeof Health>, toError: ToError): HealthCalls {
  const toHealthError: ToError = (reason, exchange) => {
    if (!(reason instanceof ConnectError) || reason instanceof ProtocolError) {
      return toError(reason, exchange);
    }
    exchange.record.code = canonicalName(reason.code);
    return reason;
  };
  const options = { callInterceptors: [errorsInterceptor(toHealthError)], messageInterceptors: [] };
  const specs = Object.values(
    createServiceImplSpec(Health, implementation as unknown as Partial<ServiceImpl<DescService>>).methods,
  );
  const endpoints = specs
    .filter(({ kind }) => kind === "unary")
    .map((spec) => createEndpoint(spec, options) as UnaryEndpoint);
  const paths = new Set(endpoints.map(({ method }) => `/${Health.typeName}/${method.name}`));
  const rpc = createRpcHandler({
    endpoints,
    unrouted: createUnroutedEndpoint(options),
    readMaxBytes,
    toError: toHealthError,
  });
  return { serves: (path) => paths.has(path), handle: (exchange) => rpc.handle(exchange) };
}
