/**
 * What users of Connect, gRPC or protobuf-es import from `petstore-inventory-client/connect`: the services and messages
 * as protobuf-es describes them, and the interceptors for retries, idempotency keys and network errors. The types are
 * those packages', which need TypeScript 5.7.
 */
export * from "./gen/petstore/v1/hold_pb.ts";
export * from "./gen/petstore/v1/hold_service_pb.ts";
export * from "./gen/petstore/v1/inventory_pb.ts";
export * from "./gen/petstore/v1/inventory_service_pb.ts";
export * from "./gen/petstore/v1/key_limits_pb.ts";
export * from "./gen/petstore/v1/limit_service_pb.ts";
export * from "./gen/petstore/v1/order_pb.ts";
export * from "./gen/petstore/v1/pet_pb.ts";
export * from "./gen/petstore/v1/pet_service_pb.ts";
export * from "./gen/petstore/v1/pet_status_pb.ts";
export * from "./gen/petstore/v1/stock_change_pb.ts";
export * from "./gen/petstore/v1/store_service_pb.ts";
export { idempotencyKeys } from "./idempotency.ts";
export { networkErrors } from "./network-errors.ts";
export { createRetryInterceptor } from "./retry.ts";
