import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../client/src/gen/google/rpc/error_details_pb.ts";

/** What the service, or one in front of it, answers. */
export interface FailureParts {
  readonly reason?: string;
  readonly domain?: string;
  /** In a `google.rpc.RetryInfo`. */
  readonly retrySeconds?: number;
  /** In a `Retry-After` header. */
  readonly retryAfter?: string;
  /** In a `google.rpc.BadRequest`. */
  readonly fields?: readonly string[];
}

/** An error with the details that the service gives its own. */
export function failure(code: Code, parts: FailureParts = {}): ConnectError {
  const { reason, domain = "petstore.v1", retrySeconds, retryAfter, fields } = parts;
  return new ConnectError("no", code, retryAfter === undefined ? {} : { "retry-after": retryAfter }, [
    ...(reason === undefined ? [] : [{ desc: ErrorInfoSchema, value: { reason, domain } }]),
    ...(retrySeconds === undefined
      ? []
      : [{ desc: RetryInfoSchema, value: { retryDelay: { seconds: BigInt(retrySeconds) } } }]),
    ...(fields === undefined
      ? []
      : [
          { desc: BadRequestSchema, value: { fieldViolations: fields.map((field) => ({ field, description: "no" })) } },
        ]),
  ]);
}

/** The refusal of a request over the limit. */
export function overLimit(retrySeconds: number): ConnectError {
  return failure(Code.ResourceExhausted, { reason: "RATE_LIMIT_EXCEEDED", retrySeconds });
}

/** What connect-node makes of a stream that was refused. */
export function refusedStream(): ConnectError {
  const cause = new Error("Stream closed with error code NGHTTP2_REFUSED_STREAM");
  return new ConnectError(cause.message, Code.Internal, undefined, undefined, cause);
}
