import { ConnectError } from "@connectrpc/connect";
import {
  type BadRequest_FieldViolation,
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.ts";
import { type ErrorReason, file_petstore_v1_error_reason } from "../../gen/petstore/v1/error_reason_pb.ts";
import { parseRetryAfter } from "./retry-after.ts";

/** Why a call failed, such as `PET_NOT_FOUND`. A newer service may have further reasons. */
export type Reason = Exclude<keyof typeof ErrorReason, "UNSPECIFIED"> | (string & {});

/** The `reason` that the service gave for a failure; undefined when the service did not answer, or it is no failure. */
export function reasonOf(error: unknown): Reason | undefined {
  const infos = error instanceof ConnectError ? error.findDetails(ErrorInfoSchema) : [];
  return infos.find(({ domain }) => domain === file_petstore_v1_error_reason.proto.package)?.reason;
}

/** The fields of the request that the service blames, by path, such as `update.quantity`; none when it blames none. */
export function fieldViolationsOf(error: unknown): BadRequest_FieldViolation[] {
  const details = error instanceof ConnectError ? error.findDetails(BadRequestSchema) : [];
  return details.flatMap(({ fieldViolations }) => fieldViolations);
}

/**
 * How long the service asks to wait before the next attempt, in milliseconds: from `google.rpc.RetryInfo`, or from a
 * `Retry-After` header; undefined when it does not ask for it.
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
