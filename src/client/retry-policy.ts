import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { reasonOf, retryDelayMsOf } from "./errors.ts";

/** When a failed call is tried again, and for how long. */
export interface RetryPolicy {
  /** The most attempts at a call, the first one included; 1 switches retries off. Default: 6 */
  readonly maxAttempts: number;
  /** The longest back-off before the first retry; it doubles with each further one. Default: 200 ms */
  readonly initialDelayMs: number;
  /** The longest wait before one attempt. What asks for a longer one, as most bans do, fails at once. Default: 60 s */
  readonly maxDelayMs: number;
  /** The longest that a call waits for all of its attempts together. Default: 2 minutes */
  readonly maxTotalDelayMs: number;
}

/**
 * Enough to outlive a restart of the service, which takes less than the 3.1 s that are waited at least; and to wait for
 * a minute's window; not for a day's, nor for a ban.
 */
export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 6,
  initialDelayMs: 200,
  maxDelayMs: 60_000,
  maxTotalDelayMs: 120_000,
};

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
  // A TypeError is how `fetch` tells that the network failed. Source: https://fetch.spec.whatwg.org/#fetch-method
  return error instanceof ConnectError ? interruptions.includes(error.code) : error instanceof TypeError;
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
