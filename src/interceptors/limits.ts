import { createContextKey, type Interceptor } from "@connectrpc/connect";
import { apiKeyBanned, type DomainError, rateLimitExceeded } from "../domain/errors.ts";
import type { Key } from "../domain/key.ts";
import type { KeyLimits } from "../domain/limits.ts";
import type { Judgement, WindowStanding } from "../domain/rate-limit-decision.ts";
import { answerHeaderOf, exchangeOf } from "../rpc/running-call.ts";
import { type Caller, callerKey } from "./auth.ts";
import { isFree } from "./operation.ts";

/** Counts requests, and judges each by those before it. */
export interface Meter {
  /** Judges and charges a request that is made with a key. */
  judgeKey(key: Key): Judgement | Promise<Judgement>;
  /** Judges and charges a request without a valid key, by the client's address. */
  judgeStranger(address: string): Judgement;
  /** Tells how a key stands, and charges nothing. */
  describeKey(key: Key): KeyLimits | Promise<KeyLimits>;
}

/** Set by the limits interceptor for methods that are free of charge, when a key is valid. */
export const limitsKey = createContextKey<KeyLimits | undefined>(undefined, { description: "limits" });

/**
 * Holds callers to their limits, and puts the limits' headers on every answer. Strangers end here: what they are told
 * carries the limit of their address. Methods that are free of charge take whoever has a valid key.
 */
export function limitsInterceptor(meter: Meter): Interceptor {
  return (next) => {
    const proceedFree = (request: Request, limits: KeyLimits) => {
      request.contextValues.set(limitsKey, limits);
      appendStanding(answerHeaderOf(request), limits.judgement);
      return next(request);
    };
    const proceed = (request: Request, caller: Caller, judgement: Judgement) => {
      appendLimits(answerHeaderOf(request), judgement);
      const error = limitError(judgement);
      if (error !== undefined) {
        throw error;
      }
      if (caller.key === undefined) {
        throw caller.refusal;
      }
      return next(request);
    };
    const judgeStranger = (request: Request) => meter.judgeStranger(exchangeOf(request).clientAddress);
    /** A key whose counts cannot be read is a stranger's, whose answer owes the same headers. */
    const refuse = (request: Request, refusal: unknown) =>
      proceed(request, { key: undefined, refusal }, judgeStranger(request));
    return (request) => {
      const caller = request.contextValues.get(callerKey) as Caller;
      if (caller.key !== undefined && isFree(request.method)) {
        const limits = meter.describeKey(caller.key);
        return limits instanceof Promise
          ? limits.then(
              (later) => proceedFree(request, later),
              (refusal) => refuse(request, refusal),
            )
          : proceedFree(request, limits);
      }
      const judgement = caller.key === undefined ? judgeStranger(request) : meter.judgeKey(caller.key);
      return judgement instanceof Promise
        ? judgement.then(
            (later) => proceed(request, caller, later),
            (refusal) => refuse(request, refusal),
          )
        : proceed(request, caller, judgement);
    };
  };
}

type Request = Parameters<ReturnType<Interceptor>>[0];

/** `RATE_LIMIT_EXCEEDED` or `API_KEY_BANNED`; undefined where the request is admitted. */
export function limitError(judgement: Judgement): DomainError | undefined {
  if (judgement.outcome === "refused") {
    return rateLimitExceeded(judgement.retryAfterSeconds);
  }
  return judgement.outcome === "banned" ? apiKeyBanned(judgement.retryAfterSeconds) : undefined;
}

/**
 * Adds the headers that tell a caller of its limits.
 *
 * Source: the specification, Limits; https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function appendLimits(header: Headers, judgement: Judgement): void {
  appendStanding(header, judgement);
  if (judgement.retryAfterSeconds !== undefined) {
    header.append("retry-after", String(judgement.retryAfterSeconds));
  }
}

/** All of them but `Retry-After`: an answer that is given needs no second try. */
function appendStanding(header: Headers, { standing, windows }: Judgement): void {
  header.append("x-ratelimit-limit", String(standing.limit));
  header.append("x-ratelimit-remaining", String(standing.remaining));
  header.append("x-ratelimit-reset", String(standing.resetSeconds));
  header.append("ratelimit-policy", list(windows, policyItem));
  header.append("ratelimit", list(windows, stateItem));
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
