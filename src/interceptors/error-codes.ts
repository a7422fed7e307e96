import { Code } from "@connectrpc/connect";
import type { ErrorCode } from "../domain/errors.ts";
import type { ProtocolErrorKind } from "../http/protocol-error.ts";

/** What each code is over REST and over RPC. Source: the contract, Errors. */
export const errorStatuses: Record<ErrorCode, { readonly http: number; readonly rpc: Code }> = {
  INVALID_REQUEST: { http: 400, rpc: Code.InvalidArgument },
  INVALID_PAGE_TOKEN: { http: 400, rpc: Code.InvalidArgument },
  API_KEY_MISSING: { http: 401, rpc: Code.Unauthenticated },
  API_KEY_INVALID: { http: 401, rpc: Code.Unauthenticated },
  API_KEY_EXPIRED: { http: 401, rpc: Code.Unauthenticated },
  API_KEY_REVOKED: { http: 401, rpc: Code.Unauthenticated },
  SCOPE_MISSING: { http: 403, rpc: Code.PermissionDenied },
  PET_NOT_FOUND: { http: 404, rpc: Code.NotFound },
  ROUTE_NOT_FOUND: { http: 404, rpc: Code.Unimplemented },
  METHOD_NOT_ALLOWED: { http: 405, rpc: Code.Unimplemented },
  REQUEST_TIMEOUT: { http: 408, rpc: Code.DeadlineExceeded },
  ENDPOINT_SUNSET: { http: 410, rpc: Code.FailedPrecondition },
  BODY_TOO_LARGE: { http: 413, rpc: Code.ResourceExhausted },
  MEDIA_TYPE_UNSUPPORTED: { http: 415, rpc: Code.InvalidArgument },
  RATE_LIMIT_EXCEEDED: { http: 429, rpc: Code.ResourceExhausted },
  API_KEY_BANNED: { http: 429, rpc: Code.ResourceExhausted },
  HEADERS_TOO_LARGE: { http: 431, rpc: Code.ResourceExhausted },
  INTERNAL: { http: 500, rpc: Code.Internal },
  UNAVAILABLE: { http: 503, rpc: Code.Unavailable },
  DEADLINE_EXCEEDED: { http: 504, rpc: Code.DeadlineExceeded },
};

/** The codes of what fails before a call reaches its RPC. */
export const protocolCodes: Record<ProtocolErrorKind, ErrorCode> = {
  malformed: "INVALID_REQUEST",
  unknown_route: "ROUTE_NOT_FOUND",
  method_not_allowed: "METHOD_NOT_ALLOWED",
  unsupported_media_type: "MEDIA_TYPE_UNSUPPORTED",
  unsupported_compression: "MEDIA_TYPE_UNSUPPORTED",
  body_too_large: "BODY_TOO_LARGE",
  request_timeout: "REQUEST_TIMEOUT",
  canceled: "INVALID_REQUEST",
};

/** The codes of what Connect's own parts throw. All else of theirs is a bug. */
export const connectCodes: Partial<Record<Code, ErrorCode>> = {
  [Code.InvalidArgument]: "INVALID_REQUEST",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.Unavailable]: "UNAVAILABLE",
};
