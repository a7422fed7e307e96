/**
 * What users of `petstore-inventory/client` import: the client, and the generated types of its messages. Nothing here
 * needs Node: it works in browsers as well.
 */
export * from "../../gen/petstore/v1/error_reason_pb.ts";
export * from "../../gen/petstore/v1/inventory_pb.ts";
export * from "../../gen/petstore/v1/inventory_service_pb.ts";
export * from "../../gen/petstore/v1/key_limits_pb.ts";
export * from "../../gen/petstore/v1/limit_service_pb.ts";
export * from "../../gen/petstore/v1/order_pb.ts";
export * from "../../gen/petstore/v1/pet_pb.ts";
export * from "../../gen/petstore/v1/pet_service_pb.ts";
export * from "../../gen/petstore/v1/pet_status_pb.ts";
export * from "../../gen/petstore/v1/store_service_pb.ts";
export {
  createPetstoreClient,
  type PetstoreClient,
  type PetstoreClientOptions,
  type TransportOptions,
} from "./client.ts";
export { fieldViolationsOf, type Reason, reasonOf, retryDelayMsOf } from "./errors.ts";
export type { ApiKey } from "./key.ts";
export { type Limits, type LimitWindow, parseLimits } from "./limits.ts";
export { createRetryInterceptor } from "./retry.ts";
export { defaultRetryPolicy, type RetryPolicy } from "./retry-policy.ts";
export type { Timing } from "./timing.ts";
