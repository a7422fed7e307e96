import type { ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { DomainError, ErrorCode } from "../domain/errors.ts";

/** The domain of the codes in `google.rpc.ErrorInfo`. */
const errorDomain = "petstore.v1";

type ErrorDetail = NonNullable<ConstructorParameters<typeof ConnectError>[3]>[number];

/**
 * The details of an error: its code, the fields to blame, and when to try again. Source: google/rpc/error_details.proto
 */
export function errorDetails({ code, fieldViolations, retryAfterSeconds }: DomainError): ErrorDetail[] {
  const details: ErrorDetail[] = [errorInfo(code)];
  if (fieldViolations.length > 0) {
    details.push({ desc: BadRequestSchema, value: { fieldViolations: [...fieldViolations] } });
  }
  if (retryAfterSeconds !== undefined) {
    details.push({ desc: RetryInfoSchema, value: { retryDelay: { seconds: BigInt(retryAfterSeconds) } } });
  }
  return details;
}

/** The detail with the code of an error. */
export function errorInfo(code: ErrorCode): ErrorDetail {
  return { desc: ErrorInfoSchema, value: { reason: code, domain: errorDomain } };
}

/** The code in an error's details; undefined when there is none. */
export function codeOfDetails(details: ConnectError["details"]): ErrorCode | undefined {
  for (const detail of details) {
    if ("desc" in detail && detail.desc === ErrorInfoSchema) {
      return (detail.value as { reason: ErrorCode }).reason;
    }
  }
  return undefined;
}
