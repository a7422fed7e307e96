import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { reasonOf, retryDelayMsOf } from "./errors.ts";
import type { RetryPolicy } from "./retry-policy.ts";

/** The limits. */
const refusals: readonly unknown[] = ["RATE_LIMIT_EXCEEDED", "API_KEY_BANNED"];

/**
 * Nobody answered, or the connection broke on the way: the call may have been carried out. Node tells of streams that
 * end with their connection as of cancelled ones; calls that were cancelled by their caller are never made again.
 */
const interruptions: readonly Code[] = [Code.Unavailable, Code.Aborted, Code.Canceled];

/** Whether a call that failed so can be made again without doing its work twice. */
export function isRetriable(error: unknown, method: DescMethod): boolean {
  return isRefused(error) || (isInterruption(error) && isIdempotent(method));
}

/** What the service has refused was never begun. */
function isRefused(error: unknown): boolean {
  return refusals.includes(reasonOf(error)) || isRefusedStream(error);
}

/**
 * A server that is about to end refuses new streams. `@connectrpc/connect-node` tells of some of them as of a fault.
 *
 * Source: RFC 9113, section 8.7
 */
function isRefusedStream(error: unknown): boolean {
  const cause = error instanceof ConnectError ? error.cause : undefined;
  return cause instanceof Error && cause.message.endsWith("NGHTTP2_REFUSED_STREAM");
}

function isInterruption(error: unknown): boolean {
  return error instanceof ConnectError && interruptions.includes(error.code);
}

function isIdempotent({ idempotency }: DescMethod): boolean {
  return idempotency !== MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN;
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
 * How long to wait before the next attempt, in milliseconds; undefined when the policy allows none. The wait that the
 * service asks for is kept to, and spread a little, so that not all who were refused come back at once. Without one it
 * is exponential back-off with equal jitter: half of it is certain, so that all waits together have a least length.
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
    : askedMs + random * policy.initialDelayMs;
}
