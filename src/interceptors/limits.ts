import { createContextKey } from "@connectrpc/connect";
import {
  apiKeyBanned,
  type DomainError,
  isUnavailable,
  KeyStatusUnknownError,
  rateLimitExceeded,
} from "../domain/errors.ts";
import type { Key } from "../domain/key.ts";
import type { AddressLimiter, KeyLimits, RateLimitDecision, RateLimiter } from "../domain/limits.ts";
import type { HeaderList } from "../http/header-list.ts";
import type { Call, CallHandler, CallInterceptor, CallResponse } from "../rpc/call.ts";
import { type Caller, callerKey } from "./auth.ts";
import { isFree } from "./operation.ts";

/** Set by the limits interceptor for methods that are free of charge, when a key is valid. */
export const limitsKey = createContextKey<KeyLimits | undefined>(undefined, { description: "limits" });

/** The refusal of a call that the limits admit, which is not charged. An interceptor before this one sets it. */
export const uncountedRefusal = createContextKey<DomainError | undefined>(undefined, { description: "refusal" });

/**
 * Enforces the limits of callers, and adds the limit headers to every answer. It refuses anonymous callers. Their
 * answer has the limit headers of their address, unless the store could not say whether their key is valid. Methods
 * that are free of charge admit any valid key.
 */
export function limitsInterceptor({ keys, anonymous }: RateLimiter): CallInterceptor {
  return {
    wrap(next, method) {
      const counted = method.methodKind === "unary" ? charge : chargeUnlessRefused;
      const proceed = isFree(method) ? describe : counted;
      return (call) => {
        const caller = call.contextValues.get(callerKey) as Caller;
        if (caller.key === undefined && caller.refusal instanceof KeyStatusUnknownError) {
          return Promise.reject(caller.refusal);
        }
        return caller.key === undefined ? refuse(anonymous, call, caller.refusal) : proceed(call, caller.key, next);
      };
    },
  };

  function charge(call: Call, key: Key, next: CallHandler) {
    const decision = keys.decideNow(key);
    return decision === undefined
      ? answered(call, keys.decide(key), (asked) => proceedIfAdmitted(call, asked, next))
      : proceedIfAdmitted(call, decision, next);
  }

  /** A used-up limit or a ban outranks the refusal, and then the call counts towards a ban. */
  function chargeUnlessRefused(call: Call, key: Key, next: CallHandler) {
    const refusal = call.contextValues.get(uncountedRefusal);
    if (refusal === undefined) {
      return charge(call, key, next);
    }
    const fail = () => Promise.reject(refusal);
    return withLimits(call, key, ({ decision }) =>
      decision.outcome === "admitted" ? proceedIfAdmitted(call, decision, fail) : charge(call, key, fail),
    );
  }

  function describe(call: Call, key: Key, next: CallHandler) {
    return withLimits(call, key, (limits) => proceedWithLimits(call, limits, next));
  }

  function withLimits(call: Call, key: Key, proceed: (limits: KeyLimits) => Promise<CallResponse>) {
    const limits = keys.describeNow(key);
    return limits === undefined ? answered(call, keys.describe(key), proceed) : proceed(limits);
  }

  /** When the counts of its key cannot be read, a caller counts as anonymous, so that the answer has limit headers. */
  function answered<T>(call: Call, asked: Promise<T>, proceed: (answer: T) => Promise<CallResponse>) {
    return asked.then(proceed, (reason: unknown) => refuse(anonymous, call, reason));
  }
}

/** Refuses an anonymous caller, with the limit headers of its address. */
async function refuse(anonymous: AddressLimiter, { exchange, answerHeader }: Call, reason: unknown): Promise<never> {
  if (isUnavailable(reason)) {
    // The key may be valid, so its requests do not count for the address.
    appendHeaderValues(answerHeader, await anonymous.describe(exchange.clientAddress));
    throw reason;
  }
  throw (await chargeAddress(anonymous, exchange.clientAddress, answerHeader)) ?? reason;
}

/**
 * Charges a request without a valid key to the client's address, and adds the limit headers. Resolves to the error of
 * the limit if that refuses the request. Rejects with `UNAVAILABLE` if nobody can count it.
 */
export async function chargeAddress(
  anonymous: AddressLimiter,
  address: string,
  header: HeaderList,
): Promise<DomainError | undefined> {
  const decision = anonymous.decideNow(address) ?? (await anonymous.decide(address));
  appendLimits(header, decision);
  return limitError(decision);
}

function proceedIfAdmitted(call: Call, decision: RateLimitDecision, next: CallHandler) {
  if (decision.outcome !== "admitted") {
    appendLimits(call.answerHeader, decision);
    return Promise.reject(limitError(decision));
  }
  appendHeaderValues(call.answerHeader, decision);
  return next(call);
}

function proceedWithLimits(call: Call, limits: KeyLimits, next: CallHandler) {
  call.contextValues.set(limitsKey, limits);
  appendHeaderValues(call.answerHeader, limits.decision);
  return next(call);
}

/** `RATE_LIMIT_EXCEEDED` or `API_KEY_BANNED`; undefined if the request is admitted. */
export function limitError({ outcome, shown }: RateLimitDecision): DomainError | undefined {
  if (outcome === "refused") {
    return rateLimitExceeded(shown.resetAfterSeconds);
  }
  return outcome === "banned" ? apiKeyBanned(shown.resetAfterSeconds) : undefined;
}

/**
 * Adds the headers that tell a caller of its limits.
 *
 * Source: docs/contract.md#limit-headers; https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function appendLimits(header: HeaderList, decision: RateLimitDecision): void {
  appendHeaderValues(header, decision);
  if (decision.outcome !== "admitted") {
    header.append("retry-after", String(decision.shown.resetAfterSeconds));
  }
}

/** Adds all headers but `Retry-After`: where the request is admitted, or waiting for the limit would not help. */
function appendHeaderValues(header: HeaderList, { shown, windows }: RateLimitDecision): void {
  let policy = "";
  let state = "";
  for (const { name, limit, lengthSeconds, remaining, resetAfterSeconds } of windows) {
    const separator = state && ", ";
    policy += `${separator}"${name}";q=${limit};w=${lengthSeconds}`;
    state += `${separator}"${name}";r=${remaining};t=${resetAfterSeconds}`;
  }
  header.raw.push("x-ratelimit-limit", String(shown.limit));
  header.raw.push("x-ratelimit-remaining", String(shown.remaining));
  header.raw.push("x-ratelimit-reset", String(shown.resetAtSeconds));
  header.raw.push("ratelimit-policy", policy, "ratelimit", state);
}
