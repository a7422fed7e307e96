import type { DescService } from "@bufbuild/protobuf";
import { createServiceImplSpec, type ServiceImpl } from "@connectrpc/connect";
import { createEndpoint, type EndpointOptions } from "./create-endpoint.ts";
import type { UnaryEndpoint } from "./endpoint.ts";

/** Makes an endpoint of each unary method of a service, and of none that streams. */
export function createUnaryEndpoints<S extends DescService>(
  service: S,
  implementation: ServiceImpl<S>,
  options: EndpointOptions,
): UnaryEndpoint[] {
  const { methods } = createServiceImplSpec(service, implementation as Partial<ServiceImpl<DescService>>);
  return Object.values(methods)
    .filter(({ kind }) => kind === "unary")
    .map((spec) => createEndpoint(spec, options) as UnaryEndpoint);
}
