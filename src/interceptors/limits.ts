import { createContextKey } from "@connectrpc/connect";
import { apiKeyBanned, type DomainError, rateLimitExceeded } from "../domain/errors.ts";
import type { Key } from "../domain/key.ts";
import type { KeyLimits } from "../domain/limits.ts";
import type { RateLimitDecision } from "../domain/rate-limit-decision.ts";
import type { HeaderList } from "../http/header-list.ts";
import type { Call, CallHandler, CallInterceptor } from "../rpc/call.ts";
import { type Caller, callerKey } from "./auth.ts";
import { isFree } from "./operation.ts";

/** Counts requests, and decides on each by those before it. */
export interface RateLimiter {
  readonly keys: {
    /**
     * Decides on a request that is made with a key, and charges it: now where the key's counts are in memory, otherwise
     * once they have been read. Rejects when they cannot be read.
     */
    decide(key: Key): RateLimitDecision | Promise<RateLimitDecision>;
    /** Describes the limits of a key, and charges nothing. Rejects as `decide` does. */
    describe(key: Key): KeyLimits | Promise<KeyLimits>;
  };
  readonly anonymous: {
    /** Decides on a request without a valid key by the client's address, and charges it. */
    decide(address: string): RateLimitDecision;
  };
}

/** Set by the limits interceptor for methods that are free of charge, when a key is valid. */
export const limitsKey = createContextKey<KeyLimits | undefined>(undefined, { description: "limits" });

/**
 * Holds callers to their limits, and puts the limits' headers on every answer. Anonymous callers end here: the answer
 * tells the limit of their address. Methods that are free of charge take any valid key.
 */
export function limitsInterceptor({ keys, anonymous }: RateLimiter): CallInterceptor {
  return {
    wrap(next, method) {
      function charge(call: Call, decision: RateLimitDecision) {
        appendLimits(call.answerHeader, decision);
        const error = limitError(decision);
        if (error !== undefined) {
          throw error;
        }
        return next(call);
      }
      function describe(call: Call, limits: KeyLimits) {
        call.contextValues.set(limitsKey, limits);
        appendHeaderValues(call.answerHeader, limits.decision);
        return next(call);
      }
      return isFree(method)
        ? withKey((key) => keys.describe(key), describe)
        : withKey((key) => keys.decide(key), charge);
    },
  };

  /** Goes on with what `ask` tells of the caller's key. Refuses a caller without one. */
  function withKey<T extends object>(
    ask: (key: Key) => T | Promise<T>,
    proceed: (call: Call, told: T) => ReturnType<CallHandler>,
  ): CallHandler {
    return (call) => {
      const caller = call.contextValues.get(callerKey) as Caller;
      if (caller.key === undefined) {
        throw refuseAnonymous(call, caller.refusal);
      }
      const told = ask(caller.key);
      if (!(told instanceof Promise)) {
        return proceed(call, told);
      }
      const refuse = (reason: unknown) => Promise.reject(refuseAnonymous(call, reason));
      return told.then((later) => proceed(call, later), refuse);
    };
  }

  /** When the counts of its key cannot be read, a caller counts as anonymous, so that the answer has limit headers. */
  function refuseAnonymous(call: Call, reason: unknown): unknown {
    const decision = anonymous.decide(call.exchange.clientAddress);
    appendLimits(call.answerHeader, decision);
    return limitError(decision) ?? reason;
  }
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
export function appendLimits(header: HeaderList, decision: RateLimitDecision): void {
  appendHeaderValues(header, decision);
  if (decision.retryAfterSeconds !== undefined) {
    header.append("retry-after", String(decision.retryAfterSeconds));
  }
}

/** Adds all headers but `Retry-After`, which an admitted request does not need. */
function appendHeaderValues(header: HeaderList, { headerValues, windows }: RateLimitDecision): void {
  let policy = "";
  let state = "";
  for (const { name, limit, lengthSeconds, remaining, resetAfterSeconds } of windows) {
    policy += `${policy && ", "}"${name}";q=${limit};w=${lengthSeconds}`;
    state += `${state && ", "}"${name}";r=${remaining};t=${resetAfterSeconds}`;
  }
  header.raw.push("x-ratelimit-limit", String(headerValues.limit));
  header.raw.push("x-ratelimit-remaining", String(headerValues.remaining));
  header.raw.push("x-ratelimit-reset", String(headerValues.resetSeconds));
  header.raw.push("ratelimit-policy", policy, "ratelimit", state);
}
