import { createContextKey, type Interceptor } from "@connectrpc/connect";
import { apiKeyInvalid, apiKeyMissing, type DomainError } from "../domain/errors.ts";
import { type FoundKey, type Key, refusalOf } from "../domain/key.ts";
import { exchangeOf } from "../rpc/running-call.ts";

/** Who calls: the holder of a valid key, or somebody who is not let in, and why. */
export type Caller = { readonly key: Key } | { readonly key: undefined; readonly refusal: unknown };

type Request = Parameters<ReturnType<Interceptor>>[0];

/** Finds keys by what clients send; undefined for what is no key's secret. */
export interface KeyFinder {
  find(secret: string): FoundKey | undefined | Promise<FoundKey | undefined>;
}

/** Set by the auth interceptor for all that follow. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: "caller" });

/**
 * Finds out who calls, from the bearer token. It refuses nobody yet: a stranger's requests are counted too, and what
 * refuses them is the limits interceptor, which knows the headers that go with it.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function authInterceptor(keys: KeyFinder, clock: () => number): Interceptor {
  function identify(lines: readonly string[]): Caller | Promise<Caller> {
    const token = bearerToken(lines);
    if (typeof token !== "string") {
      return stranger(token.refusal);
    }
    const found = keys.find(token);
    return found instanceof Promise ? found.then((later) => callerOf(later, clock())) : callerOf(found, clock());
  }
  return (next) => {
    const proceed = (request: Request, caller: Caller) => {
      request.contextValues.set(callerKey, caller);
      exchangeOf(request).record.caller = caller.key?.id;
      return next(request);
    };
    return (request) => {
      const caller = identify(exchangeOf(request).headerLines("authorization"));
      // A key that is known costs no turn of the microtask queue.
      return caller instanceof Promise
        ? caller.catch(stranger).then((later) => proceed(request, later))
        : proceed(request, caller);
    };
  };
}

/** The token of the one `Authorization` header, or why there is none. */
function bearerToken(lines: readonly string[]): string | { refusal: DomainError } {
  if (lines.length > 1) {
    return { refusal: apiKeyInvalid() };
  }
  const [line = ""] = lines;
  const token = /^bearer +/i.test(line) ? line.slice("bearer ".length).trim() : "";
  return token === "" ? { refusal: apiKeyMissing() } : token;
}

function callerOf(found: FoundKey | undefined, nowMs: number): Caller {
  return found === undefined ? stranger(apiKeyInvalid()) : holder(found, nowMs);
}

function holder(found: FoundKey, nowMs: number): Caller {
  const refusal = refusalOf(found, nowMs);
  return refusal === undefined ? { key: found.key } : stranger(refusal);
}

/** Somebody whose key cannot be looked up is a stranger too, whose answer owes the same headers. */
function stranger(refusal: unknown): Caller {
  return { key: undefined, refusal };
}
