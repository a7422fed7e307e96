import { type DescEnumValue, getOption } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { error_status } from "../../gen/petstore/options/v1/error_status_pb.ts";
import { type ErrorReason, ErrorReasonSchema } from "../../gen/petstore/v1/error_reason_pb.ts";
import { DomainError, type ErrorCode, type FieldViolation, internal } from "../domain/errors.ts";
import { ProtocolError, type ProtocolErrorKind } from "../http/protocol-error.ts";
import type { ToError } from "../rpc/call.ts";

/**
 * As `toConnectError`; it also notes the code on the exchange's record, and reports the causes of errors for which the
 * service is to blame.
 */
export function createErrorReporter(report: (failure: Failure) => void): ToError {
  return (reason, exchange) => {
    const error = toConnectError(reason);
    const code = errorCodeOf(error);
    exchange.record.code = code;
    if (code === "INTERNAL" || (code === "UNAVAILABLE" && !exchange.record.isStopped)) {
      report({ code, cause: error.cause, requestId: exchange.requestId });
    }
    return error;
  };
}

/** A failure for which the service is to blame. */
export interface Failure {
  readonly code: ErrorCode;
  readonly cause: unknown;
  readonly requestId: string;
}

/**
 * The error that clients see, with its details. An error that has details already is returned as it is. An unexpected
 * one becomes `INTERNAL`, with the reason as its cause.
 */
export function toConnectError(reason: unknown): ConnectError {
  if (reason instanceof DomainError) {
    return fromDomainError(reason);
  }
  if (!(reason instanceof ConnectError)) {
    return fromDomainError(internal(reason));
  }
  if (codeOfDetails(reason.details) !== undefined) {
    return reason;
  }
  const code = reason instanceof ProtocolError ? protocolCodes[reason.kind] : connectCodes[reason.code];
  if (code === undefined) {
    return fromDomainError(internal(reason));
  }
  reason.details.push(errorInfo(code));
  if (reason instanceof ProtocolError && reason.fieldFault !== undefined) {
    reason.details.push(badRequest([reason.fieldFault]));
  }
  return reason;
}

/** The code of an error that `toConnectError` made. */
export function errorCodeOf(error: ConnectError): ErrorCode {
  return codeOfDetails(error.details) ?? "INTERNAL";
}

/** The message `petstore.v1.Error`, in the JSON of REST. */
interface RestError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status: number;
}

/** The status and body of a failed answer over REST. Source: docs/contract.md#errors */
export function errorToRest(error: ConnectError): { readonly status: number; readonly body: RestError } {
  const code = errorCodeOf(error);
  const status = errorStatuses[code].http;
  return { status, body: { code, message: error.rawMessage, status } };
}

function fromDomainError(error: DomainError): ConnectError {
  // No wire format can carry a lone surrogate.
  const message = error.message.toWellFormed();
  return new ConnectError(message, errorStatuses[error.code].rpc, challenge(error), errorDetails(error), error.cause);
}

/** Source: https://www.rfc-editor.org/rfc/rfc6750#section-3 */
function challenge({ code }: DomainError): Record<string, string> {
  switch (code) {
    case "API_KEY_MISSING":
      return { "www-authenticate": 'Bearer realm="petstore"' };
    case "API_KEY_INVALID":
    case "API_KEY_EXPIRED":
    case "API_KEY_REVOKED":
      return { "www-authenticate": 'Bearer realm="petstore", error="invalid_token"' };
    case "SCOPE_MISSING":
      return { "www-authenticate": 'Bearer realm="petstore", error="insufficient_scope"' };
    default:
      return {};
  }
}

/** The domain of the codes in `google.rpc.ErrorInfo`. */
const errorDomain = "petstore.v1";

type ErrorDetail = NonNullable<ConstructorParameters<typeof ConnectError>[3]>[number];

/**
 * The details of an error: its code, the fields to blame, and when to try again. Source: google/rpc/error_details.proto
 */
function errorDetails({ code, fieldViolations, retryAfterSeconds }: DomainError): ErrorDetail[] {
  const details: ErrorDetail[] = [errorInfo(code)];
  if (fieldViolations.length > 0) {
    details.push(badRequest(fieldViolations));
  }
  if (retryAfterSeconds !== undefined) {
    details.push({ desc: RetryInfoSchema, value: { retryDelay: { seconds: BigInt(retryAfterSeconds) } } });
  }
  return details;
}

/** The detail with the code of an error. */
function errorInfo(code: ErrorCode): ErrorDetail {
  return { desc: ErrorInfoSchema, value: { reason: code, domain: errorDomain } };
}

/** The detail with the fields to blame. */
function badRequest(fieldViolations: readonly FieldViolation[]): ErrorDetail {
  return { desc: BadRequestSchema, value: { fieldViolations: [...fieldViolations] } };
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

/** The status of an error over REST and over RPC. */
interface ErrorStatus {
  readonly http: number;
  readonly rpc: Code;
}

/** The codes in the protos. A look-up by a code of the domain compiles only if it is one of them. */
type Reason = Exclude<keyof typeof ErrorReason, "UNSPECIFIED">;

/** The status of each code, from the options of `petstore.v1.ErrorReason`. */
export const errorStatuses = Object.fromEntries(
  ErrorReasonSchema.values.filter(({ number }) => number !== 0).map((value) => [value.localName, statusOf(value)]),
) as Readonly<Record<Reason, ErrorStatus>>;

function statusOf(value: DescEnumValue): ErrorStatus {
  const { http, canonical } = getOption(value, error_status);
  // Connect numbers the canonical codes as google.rpc does.
  return { http, rpc: canonical as number as Code };
}

/** The codes of requests that fail before they reach their RPC. */
const protocolCodes: Record<ProtocolErrorKind, ErrorCode> = {
  malformed: "INVALID_REQUEST",
  unknown_route: "ROUTE_NOT_FOUND",
  method_not_allowed: "METHOD_NOT_ALLOWED",
  unsupported_media_type: "MEDIA_TYPE_UNSUPPORTED",
  not_acceptable: "NOT_ACCEPTABLE",
  unsupported_compression: "INVALID_REQUEST",
  unsupported_codec: "INVALID_REQUEST",
  cardinality: "INVALID_REQUEST",
  unnamed_compression: "INVALID_REQUEST",
  body_too_large: "BODY_TOO_LARGE",
  headers_too_large: "HEADERS_TOO_LARGE",
  request_timeout: "REQUEST_TIMEOUT",
  deadline_exceeded: "DEADLINE_EXCEEDED",
  canceled: "INVALID_REQUEST",
};

/** The codes of errors that Connect throws. Any other of its errors is a bug. */
const connectCodes: Partial<Record<Code, ErrorCode>> = {
  [Code.InvalidArgument]: "INVALID_REQUEST",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.Unavailable]: "UNAVAILABLE",
};

/**
 * The error that clients see for what Connect's own handlers find wrong with a stream of messages. Connect calls a
 * message that cannot be decoded internal, and tells what its decoder says.
 */
export function toClientFault(error: ConnectError): ConnectError {
  if (error.code === Code.Internal) {
    const message = "The request holds a message that cannot be decoded. Check its encoding.";
    return new ConnectError(message, Code.InvalidArgument, undefined, [errorInfo("INVALID_REQUEST")]);
  }
  const code = streamCodes[error.code];
  if (code !== undefined) {
    error.details.push(errorInfo(code));
  }
  return error;
}

/** The codes for what Connect's handlers find wrong with a stream of messages. */
const streamCodes: Partial<Record<Code, ErrorCode>> = {
  [Code.InvalidArgument]: "INVALID_REQUEST",
  [Code.Unimplemented]: "INVALID_REQUEST",
  [Code.ResourceExhausted]: "BODY_TOO_LARGE",
};

/** The name of a canonical code, such as `NOT_FOUND`. */
export function canonicalName(code: Code): string {
  return Code[code].replace(/(?<=[a-z])[A-Z]/g, "_$&").toUpperCase();
}
