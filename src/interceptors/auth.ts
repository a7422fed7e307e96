import { createContextKey } from "@connectrpc/connect";
import { apiKeyInvalid, apiKeyMissing, type DomainError, scopeMissing } from "../domain/errors.ts";
import { type FoundKey, type Key, refusalOf } from "../domain/key.ts";
import type { KeyFinder } from "../domain/key-store.ts";
import type { CallHandler, CallInterceptor } from "../rpc/call.ts";
import { operationOf } from "./operation.ts";

/** The caller: the holder of a valid key, or an anonymous one and why it is refused. */
export type Caller = { readonly key: Key } | { readonly key: undefined; readonly refusal: unknown };

/** Set by the auth interceptor. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: "caller" });

/**
 * Identifies the caller by the bearer token. It refuses nobody: the limits interceptor counts anonymous requests before
 * it refuses them, and adds the headers.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function authInterceptor(keys: KeyFinder, clock: () => number): CallInterceptor {
  async function identify(lines: readonly string[]): Promise<Caller> {
    const token = bearerToken(lines);
    if (typeof token !== "string") {
      return anonymous(token.refusal);
    }
    try {
      return callerOf(await keys.find(token), clock());
    } catch (refusal) {
      return anonymous(refusal);
    }
  }
  return {
    wrap: (next) => async (call) => {
      const caller = await identify(call.headerLines("authorization"));
      call.contextValues.set(callerKey, caller);
      call.exchange.record.caller = caller.key?.id;
      return await next(call);
    },
  };
}

/** The token in the only `Authorization` header, or why there is none. */
function bearerToken(lines: readonly string[]): string | { refusal: DomainError } {
  if (lines.length > 1) {
    return { refusal: apiKeyInvalid() };
  }
  const [line = ""] = lines;
  const token = /^bearer +/i.test(line) ? line.slice("bearer ".length).trim() : "";
  return token === "" ? { refusal: apiKeyMissing() } : token;
}

function callerOf(found: FoundKey | undefined, nowMs: number): Caller {
  const refusal = found === undefined ? apiKeyInvalid() : refusalOf(found, nowMs);
  return found === undefined || refusal !== undefined ? anonymous(refusal) : { key: found.key };
}

/** A caller whose key cannot be looked up is anonymous too: the answer owes the same headers. */
function anonymous(refusal: unknown): Caller {
  return { key: undefined, refusal };
}

/**
 * Lets a call in only when its key has the scope that the method's proto names. Some methods name none, and neither
 * does the method of requests that no RPC takes.
 */
export const scopesInterceptor: CallInterceptor = {
  wrap(next, method) {
    const scope = operationOf(method)?.scope ?? "";
    return scope === "" ? next : requireScope(scope, next);
  },
};

function requireScope(scope: string, next: CallHandler): CallHandler {
  return (call) => {
    const granted: readonly string[] = call.contextValues.get(callerKey)?.key?.scopes ?? [];
    return granted.includes(scope) ? next(call) : Promise.reject(scopeMissing(scope));
  };
}
