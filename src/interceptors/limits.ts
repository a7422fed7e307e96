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
    /** Whether the counts of a key are in memory. They stay there until the end of the event loop's turn at least. */
    isLoaded(key: Key): boolean;
    /** Reads the counts of a key into memory. Rejects when they cannot be read. */
    load(key: Key): Promise<void>;
    /** Decides on a request that is made with a key, and charges it. The key's counts must be in memory. */
    decide(key: Key): RateLimitDecision;
    /** Describes the limits of a key, and charges nothing. The key's counts must be in memory. */
    describe(key: Key): KeyLimits;
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
      const proceed = isFree(method) ? describe : charge;
      return (call) => {
        const caller = call.contextValues.get(callerKey) as Caller;
        if (caller.key === undefined) {
          return Promise.reject(refuseAnonymous(call, caller.refusal));
        }
        return keys.isLoaded(caller.key) ? proceed(call, caller.key, next) : loadThen(proceed, call, caller.key, next);
      };
    },
  };

  function charge(call: Call, key: Key, next: CallHandler) {
    const decision = keys.decide(key);
    appendLimits(call.answerHeader, decision);
    const error = limitError(decision);
    return error === undefined ? next(call) : Promise.reject(error);
  }

  function describe(call: Call, key: Key, next: CallHandler) {
    const limits = keys.describe(key);
    call.contextValues.set(limitsKey, limits);
    appendHeaderValues(call.answerHeader, limits.decision);
    return next(call);
  }

  async function loadThen(proceed: typeof charge, call: Call, key: Key, next: CallHandler) {
    try {
      await keys.load(key);
    } catch (reason) {
      throw refuseAnonymous(call, reason);
    }
    return await proceed(call, key, next);
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
