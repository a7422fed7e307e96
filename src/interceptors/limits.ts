import { createContextKey } from "@connectrpc/connect";
import { apiKeyBanned, type DomainError, rateLimitExceeded } from "../domain/errors.ts";
import type { Key } from "../domain/key.ts";
import type { KeyLimits } from "../domain/limits.ts";
import type { RateLimitDecision, WindowState } from "../domain/rate-limit-decision.ts";
import type { Call, CallInterceptor } from "../rpc/call.ts";
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
 * Holds callers to their limits, and puts the limits' headers on every answer. Anonymous callers end here: the answer
 * tells the limit of their address. Methods that are free of charge take any valid key.
 */
export function limitsInterceptor(limiter: RateLimiter): CallInterceptor {
  /** Why a caller with a key is refused; undefined where it is admitted. */
  async function refusalOfKey(call: Call, key: Key): Promise<unknown> {
    try {
      if (isFree(call.method)) {
        const limits = await limiter.describeKey(key);
        call.contextValues.set(limitsKey, limits);
        appendHeaderValues(call.answerHeader, limits.decision);
        return undefined;
      }
      const decision = await limiter.decideForKey(key);
      appendLimits(call.answerHeader, decision);
      return limitError(decision);
    } catch (reason) {
      // Without the counts of its key a caller counts as anonymous: the answer owes the same headers.
      return refusalOfAnonymous(call, reason);
    }
  }
  function refusalOfAnonymous(call: Call, reason: unknown): unknown {
    const decision = limiter.decideAnonymous(call.exchange.clientAddress);
    appendLimits(call.answerHeader, decision);
    return limitError(decision) ?? reason;
  }
  return {
    async intercept(call, next) {
      const caller = call.contextValues.get(callerKey) as Caller;
      const refusal =
        caller.key === undefined ? refusalOfAnonymous(call, caller.refusal) : await refusalOfKey(call, caller.key);
      if (refusal !== undefined) {
        throw refusal;
      }
      return await next(call);
    },
  };
}

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
