import { Code, ConnectError } from "@connectrpc/connect";

/** Why a request failed before it reached its RPC. */
export type ProtocolErrorKind =
  /** The content cannot be understood: syntax, types, ranges. */
  | "malformed"
  /** Nothing is served at this path. */
  | "unknown_route"
  /** Something is served at this path, but not with this method. */
  | "method_not_allowed"
  | "unsupported_media_type"
  /** The answer has none of the media types that the request accepts. */
  | "not_acceptable"
  /** The body has an unknown compression. */
  | "unsupported_compression"
  /** The message has an unknown encoding, in a protocol without a status for that. */
  | "unsupported_codec"
  /** A unary call has no message, or several. */
  | "cardinality"
  /** A message is marked as compressed, and no compression is named. */
  | "unnamed_compression"
  | "body_too_large"
  | "headers_too_large"
  /** The request did not arrive in time. */
  | "request_timeout"
  /** The call's own deadline has passed, and nothing was changed. */
  | "deadline_exceeded"
  /** The client has gone away. */
  | "canceled";

/** The fault of one field of a request. */
interface FieldFault {
  /** The path of the field, such as `update.quantity`. */
  readonly field: string;
  readonly description: string;
}

/** A request fails before it reaches its RPC. */
export class ProtocolError extends ConnectError {
  readonly kind: ProtocolErrorKind;
  /** Undefined unless a single field is at fault. */
  readonly fieldFault: FieldFault | undefined;

  /** Clients see `message`: it says what to do next, in Latin-1. */
  constructor(kind: ProtocolErrorKind, message: string, metadata?: Record<string, string>, fieldFault?: FieldFault) {
    super(message, codes[kind], metadata);
    this.kind = kind;
    this.fieldFault = fieldFault;
  }

  /**
   * `ConnectError` defines its own `instanceof`. By that definition, every `ConnectError` would be a `ProtocolError`.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof ConnectError && "kind" in value && typeof value.kind === "string" && value.kind in codes;
  }
}

const codes: Record<ProtocolErrorKind, Code> = {
  malformed: Code.InvalidArgument,
  unknown_route: Code.Unimplemented,
  method_not_allowed: Code.Unimplemented,
  unsupported_media_type: Code.InvalidArgument,
  not_acceptable: Code.InvalidArgument,
  unsupported_compression: Code.Unimplemented,
  unsupported_codec: Code.Unimplemented,
  cardinality: Code.Unimplemented,
  unnamed_compression: Code.Internal,
  body_too_large: Code.ResourceExhausted,
  headers_too_large: Code.ResourceExhausted,
  request_timeout: Code.DeadlineExceeded,
  deadline_exceeded: Code.DeadlineExceeded,
  canceled: Code.Canceled,
};

/** A field of a request has a value that cannot be read. */
export function malformedField(field: string, description: string): ProtocolError {
  return new ProtocolError("malformed", `${field}: ${description}.`, undefined, { field, description });
}

/** What came is no HTTP request. */
export function malformedRequest(): ProtocolError {
  return new ProtocolError("malformed", "This is not a valid HTTP request. Check its syntax.");
}

/** The body of a request comes in too many small pieces. */
export function fragmentedBody(): ProtocolError {
  return new ProtocolError("malformed", "The request body comes in too many small pieces. Send larger ones.");
}

/** A header of a request has spaces around its value, which HTTP/2 forbids. Source: RFC 9113, section 8.2.1 */
export function spacedValue(): ProtocolError {
  return new ProtocolError("malformed", "The value of a header begins or ends with a space. Send it without.");
}

/** The headers of a request are larger than the service takes. */
export function headersTooLarge(): ProtocolError {
  return new ProtocolError("headers_too_large", "The request's headers are larger than 16 KiB. Send fewer of them.");
}

/** A request has not arrived in time. */
export function requestTimeout(): ProtocolError {
  return new ProtocolError("request_timeout", "The request did not arrive in time. Send it again.");
}
