import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { DomainError, type ErrorCode } from "../domain/errors.ts";
import { ProtocolError, type ProtocolErrorKind } from "../rpc/protocol-error.ts";

/** The domain that `google.rpc.ErrorInfo` names: whose codes these are. */
const errorDomain = "petstore.v1";

/** What each code is over REST and over RPC. Source: the contract, Errors. */
const statuses: Record<ErrorCode, { readonly http: number; readonly rpc: Code }> = {
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
const protocolCodes: Record<ProtocolErrorKind, ErrorCode> = {
  malformed: "INVALID_REQUEST",
  unknown_route: "ROUTE_NOT_FOUND",
  method_not_allowed: "METHOD_NOT_ALLOWED",
  unsupported_media_type: "MEDIA_TYPE_UNSUPPORTED",
  unsupported_compression: "MEDIA_TYPE_UNSUPPORTED",
  body_too_large: "BODY_TOO_LARGE",
  request_timeout: "REQUEST_TIMEOUT",
  deadline_exceeded: "DEADLINE_EXCEEDED",
  canceled: "INVALID_REQUEST",
};

/** The codes of what Connect's own parts throw. All else of theirs is a bug. */
const connectCodes: Partial<Record<Code, ErrorCode>> = {
  [Code.InvalidArgument]: "INVALID_REQUEST",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.Unavailable]: "UNAVAILABLE",
};

/**
 * Makes of every failure the error that clients see. It is the outermost interceptor. `report` hears the causes of
 * those for which the service is to blame.
 */
export function errorsInterceptor(report: (code: ErrorCode, cause: unknown) => void): Interceptor {
  function toReportedError(reason: unknown): ConnectError {
    const error = toConnectError(reason);
    const code = errorCodeOf(error);
    if (statuses[code].http >= 500 && code !== "DEADLINE_EXCEEDED") {
      report(code, error.cause);
    }
    return error;
  }
  return (next) => async (request) => {
    try {
      const response = await next(request);
      return response.stream ? { ...response, message: mapErrors(response.message, toReportedError) } : response;
    } catch (reason) {
      throw toReportedError(reason);
    }
  };
}

async function* mapErrors<T>(messages: AsyncIterable<T>, toError: (reason: unknown) => Error): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (reason) {
    throw toError(reason);
  }
}

/**
 * The error that clients see, with its details. What is one already is returned as it is. Whatever was not meant to be
 * seen becomes `INTERNAL`, with the reason as its cause.
 */
export function toConnectError(reason: unknown): ConnectError {
  if (reason instanceof DomainError) {
    return domainToConnectError(reason);
  }
  const code = reason instanceof ConnectError ? foreignCode(reason) : undefined;
  if (code === undefined) {
    const options = { cause: reason };
    return domainToConnectError(new DomainError("INTERNAL", "The service failed. Try again later.", options));
  }
  const error = reason as ConnectError;
  if (errorInfoOf(error) === undefined) {
    error.details.push(errorInfo(code));
  }
  return error;
}

/** The code that clients see of an error that `toConnectError` made. */
export function errorCodeOf(error: ConnectError): ErrorCode {
  return (errorInfoOf(error)?.value.reason ?? "INTERNAL") as ErrorCode;
}

/** The status and body of a failed answer over REST. Source: the specification, Error. */
export function errorToRest(error: ConnectError): { readonly status: number; readonly body: RestError } {
  const code = errorCodeOf(error);
  const status = statuses[code].http;
  return { status, body: { code, message: error.rawMessage, status } };
}

/** The message `petstore.v1.Error`, in the JSON of REST. */
export interface RestError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status: number;
}

function foreignCode(error: ConnectError): ErrorCode | undefined {
  if (errorInfoOf(error) !== undefined) {
    return errorCodeOf(error);
  }
  return error instanceof ProtocolError ? protocolCodes[error.kind] : connectCodes[error.code];
}

function domainToConnectError(error: DomainError): ConnectError {
  const connectError = new ConnectError(
    // A lone surrogate cannot be written on any wire.
    error.message.toWellFormed(),
    statuses[error.code].rpc,
    challenge(error),
    [errorInfo(error.code), ...badRequest(error), ...retryInfo(error)],
    error.cause,
  );
  return connectError;
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

function errorInfo(code: ErrorCode) {
  return { desc: ErrorInfoSchema, value: { reason: code, domain: errorDomain } };
}

function badRequest({ fieldViolations }: DomainError) {
  return fieldViolations.length === 0 ? [] : [{ desc: BadRequestSchema, value: { fieldViolations } }];
}

function retryInfo({ retryAfterSeconds }: DomainError) {
  const retryDelay = { seconds: BigInt(retryAfterSeconds ?? 0) };
  return retryAfterSeconds === undefined ? [] : [{ desc: RetryInfoSchema, value: { retryDelay } }];
}

function errorInfoOf(error: ConnectError) {
  return error.details.find(
    (detail): detail is ReturnType<typeof errorInfo> => "desc" in detail && detail.desc === ErrorInfoSchema,
  );
}
