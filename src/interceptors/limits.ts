import type { Interceptor } from "@connectrpc/connect";
import { apiKeyBanned, rateLimitExceeded } from "../domain/errors.ts";
import type { Judgement, WindowStanding } from "../domain/judgement.ts";
import type { Key } from "../domain/key.ts";
import { answerHeaderOf, exchangeOf } from "../rpc/running-call.ts";
import { type Caller, callerKey } from "./auth.ts";

/** Counts requests, and judges each by those before it. */
export interface Meter {
  /** Judges and charges a request that is made with a key. */
  judgeKey(key: Key): Judgement | Promise<Judgement>;
  /** Judges and charges a request without a valid key, by the client's address. */
  judgeStranger(address: string): Judgement;
}

/**
 * Holds callers to their limits, and puts the limits' headers on every answer. Strangers end here: what they are told
 * carries the limit of their address.
 */
export function limitsInterceptor(meter: Meter): Interceptor {
  return (next) => {
    const proceed = (request: Request, caller: Caller, judgement: Judgement) => {
      appendLimits(answerHeaderOf(request), judgement);
      assertAdmitted(judgement);
      if (caller.key === undefined) {
        throw caller.refusal;
      }
      return next(request);
    };
    return (request) => {
      const caller = request.contextValues.get(callerKey) as Caller;
      const judgement =
        caller.key === undefined ? meter.judgeStranger(exchangeOf(request).clientAddress) : meter.judgeKey(caller.key);
      return judgement instanceof Promise
        ? judgement.then((later) => proceed(request, caller, later))
        : proceed(request, caller, judgement);
    };
  };
}

type Request = Parameters<ReturnType<Interceptor>>[0];

/** Throws `RATE_LIMIT_EXCEEDED` or `API_KEY_BANNED`. */
export function assertAdmitted(judgement: Judgement): void {
  if (judgement.outcome === "refused") {
    throw rateLimitExceeded(judgement.retryAfterSeconds);
  }
  if (judgement.outcome === "banned") {
    throw apiKeyBanned(judgement.retryAfterSeconds);
  }
}

/**
 * Adds the headers that tell a caller of its limits.
 *
 * Source: the specification, Limits; https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function appendLimits(header: Headers, { standing, windows, retryAfterSeconds }: Judgement): void {
  header.append("x-ratelimit-limit", String(standing.limit));
  header.append("x-ratelimit-remaining", String(standing.remaining));
  header.append("x-ratelimit-reset", String(standing.resetSeconds));
  header.append("ratelimit-policy", list(windows, policyItem));
  header.append("ratelimit", list(windows, stateItem));
  if (retryAfterSeconds !== undefined) {
    header.append("retry-after", String(retryAfterSeconds));
  }
}

function list(windows: readonly WindowStanding[], item: (window: WindowStanding) => string): string {
  let text = "";
  for (const window of windows) {
    text += text === "" ? item(window) : `, ${item(window)}`;
  }
  return text;
}

function policyItem({ name, limit, lengthSeconds }: WindowStanding): string {
  return `"${name}";q=${limit};w=${lengthSeconds}`;
}

function stateItem({ name, remaining, resetAfterSeconds }: WindowStanding): string {
  return `"${name}";r=${remaining};t=${resetAfterSeconds}`;
}
