/**
 * What users of `petstore-inventory-client` import. Nothing here needs Node: it works in browsers as well. And no type
 * here comes from a package: so TypeScript 5.0 takes them, without `skipLibCheck`.
 */
export type { CallOptions } from "./call-options.ts";
export { createPetstoreClient, type PetstoreClient, type PetstoreClientOptions } from "./client.ts";
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
