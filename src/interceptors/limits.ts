import { createContextKey, type Interceptor } from "@connectrpc/connect";
import { apiKeyBanned, type DomainError, rateLimitExceeded } from "../domain/errors.ts";
import type { Key } from "../domain/key.ts";
import type { KeyLimits } from "../domain/limits.ts";
import type { RateLimitDecision, WindowState } from "../domain/rate-limit-decision.ts";
import { answerHeaderOf, exchangeOf } from "../rpc/running-call.ts";
import { type Caller, callerKey } from "./auth.ts";
import { isFree } from "./operation.ts";

/** Counts requests, and judges each by those before it. */
export interface RateLimiter {
  /** Judges and charges a request that is made with a key. */
  decideForKey(key: Key): RateLimitDecision | Promise<RateLimitDecision>;
  /** Judges and charges a request without a valid key, by the client's address. */
  decideAnonymous(address: string): RateLimitDecision;
  /** Tells how a key stands, and charges nothing. */
  describeKey(key: Key): KeyLimits | Promise<KeyLimits>;
}

/** Set by the limits interceptor for methods that are free of charge, when a key is valid. */
export const limitsKey = createContextKey<KeyLimits | undefined>(undefined, { description: "limits" });

/**
 * Holds callers to their limits, and puts the limits' headers on every answer. Strangers end here: what they are told
 * carries the limit of their address. Methods that are free of charge take whoever has a valid key.
 */
export function limitsInterceptor(limiter: RateLimiter): Interceptor {
  return (next) => {
    const proceedFree = (request: Request, limits: KeyLimits) => {
      request.contextValues.set(limitsKey, limits);
      appendHeaderValues(answerHeaderOf(request), limits.decision);
      return next(request);
    };
    const proceed = (request: Request, caller: Caller, decision: RateLimitDecision) => {
      appendLimits(answerHeaderOf(request), decision);
      const error = limitError(decision);
      if (error !== undefined) {
        throw error;
      }
      if (caller.key === undefined) {
        throw caller.refusal;
      }
      return next(request);
    };
    const decideAnonymous = (request: Request) => limiter.decideAnonymous(exchangeOf(request).clientAddress);
    /** A key whose counts cannot be read is a stranger's, whose answer owes the same headers. */
    const refuse = (request: Request, refusal: unknown) =>
      proceed(request, { key: undefined, refusal }, decideAnonymous(request));
    return (request) => {
      const caller = request.contextValues.get(callerKey) as Caller;
      if (caller.key !== undefined && isFree(request.method)) {
        const limits = limiter.describeKey(caller.key);
        return limits instanceof Promise
          ? limits.then(
              (later) => proceedFree(request, later),
              (refusal) => refuse(request, refusal),
            )
          : proceedFree(request, limits);
      }
      const decision = caller.key === undefined ? decideAnonymous(request) : limiter.decideForKey(caller.key);
      return decision instanceof Promise
        ? decision.then(
            (later) => proceed(request, caller, later),
            (refusal) => refuse(request, refusal),
          )
        : proceed(request, caller, decision);
    };
  };
}

type Request = Parameters<ReturnType<Interceptor>>[0];

/** `RATE_LIMIT_EXCEEDED` or `API_KEY_BANNED`; undefined where the request is admitted. */
export function limitError(decision: RateLimitDecision): DomainError | undefined {
  if (decision.outcome === "refused") {
    return rateLimitExceeded(decision.retryAfterSeconds);
  }
  return decision.outcome === "banned" ? apiKeyBanned(decision.retryAfterSeconds) : undefined;
}

/**
 * Adds the headers that tell a caller of its limits.
 *
 * Source: docs/contract.md#limit-headers; https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function appendLimits(header: Headers, decision: RateLimitDecision): void {
  appendHeaderValues(header, decision);
  if (decision.retryAfterSeconds !== undefined) {
    header.append("retry-after", String(decision.retryAfterSeconds));
  }
}

/** All of them but `Retry-After`: an answer that is given needs no second try. */
function appendHeaderValues(header: Headers, { headerValues, windows }: RateLimitDecision): void {
  header.append("x-ratelimit-limit", String(headerValues.limit));
  header.append("x-ratelimit-remaining", String(headerValues.remaining));
  header.append("x-ratelimit-reset", String(headerValues.resetSeconds));
  header.append("ratelimit-policy", list(windows, policyItem));
  header.append("ratelimit", list(windows, stateItem));
}

function list(windows: readonly WindowState[], item: (window: WindowState) => string): string {
  let text = "";
  for (const window of windows) {
    text += text === "" ? item(window) : `, ${item(window)}`;
  }
  return text;
}

function policyItem({ name, limit, lengthSeconds }: WindowState): string {
  return `"${name}";q=${limit};w=${lengthSeconds}`;
}

function stateItem({ name, remaining, resetAfterSeconds }: WindowState): string {
  return `"${name}";r=${remaining};t=${resetAfterSeconds}`;
}
