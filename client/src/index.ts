/**
 * What users of `petstore-inventory-client` import. Nothing here needs Node, so it works in browsers. No type here
 * comes from a package, so TypeScript 5.0 accepts them without `skipLibCheck`.
 */
export type { CallOptions } from "./call-options.ts";
export { createPetstoreClient, type PetstoreClient, type PetstoreClientOptions } from "./client.ts";
export { type Duration, toDuration } from "./duration.ts";
export {
  type CanonicalCode,
  codeOf,
  type FieldViolation,
  fieldViolationsOf,
  reasonOf,
  retryDelayMsOf,
} from "./errors.ts";
export * from "./gen/api.ts";
export type { ApiKey } from "./key.ts";
export { type Limits, type LimitWindow, parseLimits } from "./limits.ts";
export { defaultRetryPolicy, type RetryPolicy } from "./retry-policy.ts";
export { type Timestamp, toDate } from "./timestamp.ts";
export type { Timing } from "./timing.ts";
export type { Transport, TransportOptions } from "./transport-option.ts";
export type { UnknownEnum } from "./unknown-enum.ts";
export type { InventoryMirror, InventoryMirrorOptions, MirrorChange, RelistReason } from "./watch/inventory-mirror.ts";
export type { ConnectionEvents, StockWatch, StockWatchOptions } from "./watch/stock-watch.ts";
