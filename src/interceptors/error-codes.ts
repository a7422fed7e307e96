import { type DescEnumValue, getOption } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { error_status } from "../../gen/petstore/options/v1/error_status_pb.ts";
import { type ErrorReason, ErrorReasonSchema } from "../../gen/petstore/v1/error_reason_pb.ts";
import type { ErrorCode } from "../domain/errors.ts";
import type { ProtocolErrorKind } from "../http/protocol-error.ts";

/** What a code is over REST and over RPC. */
export interface ErrorStatus {
  readonly http: number;
  readonly rpc: Code;
}

/** The codes that the protos know: those of the domain among them, or the code that looks one up does not compile. */
type Reason = Exclude<keyof typeof ErrorReason, "UNSPECIFIED">;

/** What each code is over REST and over RPC, from the options of `petstore.v1.ErrorReason`. */
export const errorStatuses = Object.fromEntries(
  ErrorReasonSchema.values.filter(({ number }) => number !== 0).map((value) => [value.localName, statusOf(value)]),
) as Readonly<Record<Reason, ErrorStatus>>;

function statusOf(value: DescEnumValue): ErrorStatus {
  const { http, canonical } = getOption(value, error_status);
  // Connect numbers the canonical codes as google.rpc does.
  return { http, rpc: canonical as number as Code };
}

/** The codes of what fails before a call reaches its RPC. */
export const protocolCodes: Record<ProtocolErrorKind, ErrorCode> = {
  malformed: "INVALID_REQUEST",
  unknown_route: "ROUTE_NOT_FOUND",
  method_not_allowed: "METHOD_NOT_ALLOWED",
  unsupported_media_type: "MEDIA_TYPE_UNSUPPORTED",
  unsupported_compression: "INVALID_REQUEST",
  unsupported_codec: "INVALID_REQUEST",
  cardinality: "INVALID_REQUEST",
  unnamed_compression: "INVALID_REQUEST",
  body_too_large: "BODY_TOO_LARGE",
  headers_too_large: "HEADERS_TOO_LARGE",
  request_timeout: "REQUEST_TIMEOUT",
  canceled: "INVALID_REQUEST",
};

/** The codes of what Connect's own parts throw. All else of theirs is a bug. */
export const connectCodes: Partial<Record<Code, ErrorCode>> = {
  [Code.InvalidArgument]: "INVALID_REQUEST",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.Unavailable]: "UNAVAILABLE",
};

/** As gRPC writes a code: `NOT_FOUND`. */
export function canonicalName(code: Code): string {
  return Code[code].replace(/(?<=[a-z])[A-Z]/g, "_$&").toUpperCase();
}
