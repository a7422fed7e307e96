import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import { ConnectError } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import type { Reason } from "./gen/api.ts";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.ts";
import { InventoryService } from "./gen/petstore/v1/inventory_service_pb.ts";
import { parseRetryAfter } from "./retry-after.ts";

/**
 * The canonical codes of RPCs.
 *
 * Source: https://connectrpc.com/docs/protocol#error-codes
 */
export type CanonicalCode =
  | "canceled"
  | "unknown"
  | "invalid_argument"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "resource_exhausted"
  | "failed_precondition"
  | "aborted"
  | "out_of_range"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "data_loss"
  | "unauthenticated";

/** A field of the request that is wrong. */
export interface FieldViolation {
  /** Its path, as requests name it, such as `changes[1].petId`. */
  readonly field: string;
  /** What is wrong with it. */
  readonly description: string;
}

/** The `domain` of the service's errors, beside their reason. */
const domain = InventoryService.file.proto.package;

/** The reason that the service gave for a failure; undefined when the service did not answer, or it is no failure. */
export function reasonOf(error: unknown): Reason | undefined {
  const infos = error instanceof ConnectError ? error.findDetails(ErrorInfoSchema) : [];
  return infos.find((info) => info.domain === domain)?.reason;
}

/**
 * The canonical code of a failed call, such as `not_found`; `unavailable` when the service could not be reached, and
 * undefined for any other error.
 */
export function codeOf(error: unknown): CanonicalCode | undefined {
  return error instanceof ConnectError ? (codeToString(error.code) as CanonicalCode) : undefined;
}

/** The wrong fields of the request, as requests name them; empty when the error names none. */
export function fieldViolationsOf(error: unknown): FieldViolation[] {
  const details = error instanceof ConnectError ? error.findDetails(BadRequestSchema) : [];
  const violations = details.flatMap(({ fieldViolations }) => fieldViolations);
  // The service names them as its protos do: `changes[1].pet_id`.
  return violations.map(({ field, description }) => ({ field: protoCamelCase(field), description }));
}

/**
 * How long the service asks to wait before the next attempt, in milliseconds: from `google.rpc.RetryInfo`, or from a
 * `Retry-After` header; undefined when it does not ask for it. `now`, in Unix milliseconds, is when the answer came.
 */
export function retryDelayMsOf(error: unknown, now: number = Date.now()): number | undefined {
  if (!(error instanceof ConnectError)) {
    return undefined;
  }
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return delay === undefined
    ? parseRetryAfter(error.metadata.get("retry-after"), now)
    : Number(delay.seconds) * 1_000 + delay.nanos / 1_000_000;
}
