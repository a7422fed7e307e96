import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type StreamRequest, type UnaryRequest } from "@connectrpc/connect";
import { reasonOf, retryDelayMsOf } from "./errors.ts";
import { hasIdempotencyKey } from "./idempotency.ts";
import type { RetryPolicy } from "./retry-policy.ts";

/** The reasons with which the limits refuse a call. */
const refusals: readonly unknown[] = ["RATE_LIMIT_EXCEEDED", "API_KEY_BANNED"];

/** What tells whether a call is idempotent. */
type IdempotentCall = Pick<UnaryRequest | StreamRequest, "method" | "header">;

/** Whether a call with this failure can be retried without doing its work twice. */
export function isRetriable(error: unknown, call: IdempotentCall): boolean {
  return isRefused(error) || (isInterruption(error) && isIdempotent(call));
}

/** Whether the service refused a call, and so never started it. */
export function isRefused(error: unknown): boolean {
  return refusals.includes(reasonOf(error)) || isRefusedStream(error);
}

/**
 * A server that is about to stop refuses new streams. `@connectrpc/connect-node` reports some of them as a fault.
 *
 * Source: RFC 9113, section 8.7
 */
function isRefusedStream(error: unknown): boolean {
  const cause = error instanceof ConnectError ? error.cause : undefined;
  return cause instanceof Error && cause.message.endsWith("NGHTTP2_REFUSED_STREAM");
}

/** Whether nobody answered a call, or its connection broke: it may have been carried out. See `networkErrors`. */
function isInterruption(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.Unavailable;
}

function isIdempotent({ method, header }: IdempotentCall): boolean {
  return method.idempotency !== MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN || hasIdempotencyKey(header);
}

/** A failed attempt. */
export interface FailedAttempt {
  readonly error: unknown;
  /** 1 for the first. */
  readonly attempt: number;
  /** Unix milliseconds. */
  readonly now: number;
  /** From 0 up to, but not including, 1. */
  readonly random: number;
}

/**
 * How long to wait before the next attempt, in milliseconds; undefined when the policy allows none. A wait that the
 * service asks for is honoured, with a little jitter so that refused clients do not all return at once. Otherwise it is
 * exponential back-off with equal jitter: half of each wait is fixed, so all waits together have a minimum.
 *
 * Source: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function nextDelayMs(policy: RetryPolicy, { error, attempt, now, random }: FailedAttempt): number | undefined {
  const askedMs = retryDelayMsOf(error, now);
  if (attempt >= policy.maxAttempts || (askedMs ?? 0) > policy.maxDelayMs) {
    return undefined;
  }
  return askedMs === undefined
    ? ((1 + random) / 2) * Math.min(policy.maxDelayMs, policy.initialDelayMs * 2 ** (attempt - 1))
    : Math.min(policy.maxDelayMs, askedMs + random * policy.initialDelayMs);
}
