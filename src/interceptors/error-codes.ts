import { type DescEnumValue, getOption } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { error_status } from "../../gen/petstore/options/v1/error_status_pb.ts";
import { type ErrorReason, ErrorReasonSchema } from "../../gen/petstore/v1/error_reason_pb.ts";
import type { ErrorCode } from "../domain/errors.ts";
import type { ProtocolErrorKind } from "../http/protocol-error.ts";

/** The status of an error over REST and over RPC. */
export interface ErrorStatus {
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
export const protocolCodes: Record<ProtocolErrorKind, ErrorCode> = {
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
export const connectCodes: Partial<Record<Code, ErrorCode>> = {
  [Code.InvalidArgument]: "INVALID_REQUEST",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.Unavailable]: "UNAVAILABLE",
};

/** The name of a canonical code, such as `NOT_FOUND`. */
export function canonicalName(code: Code): string {
  return Code[code].replace(/(?<=[a-z])[A-Z]/g, "_$&").toUpperCase();
}
