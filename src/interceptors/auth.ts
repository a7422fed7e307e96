import { createContextKey } from "@connectrpc/connect";
import { apiKeyInvalid, apiKeyMissing, scopeMissing } from "../domain/errors.ts";
import { type FoundKey, refusalOf } from "../domain/key.ts";
import type { KeyFinder } from "../domain/store.ts";
import type { Call, CallHandler, CallInterceptor } from "../rpc/call.ts";
import { operationOf } from "./operation.ts";

/** The caller: the holder of a valid key, or an anonymous one and why it is refused. */
export type Caller = FoundKey | { readonly key: undefined; readonly refusal: unknown };

/** Set by the auth interceptor. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: "caller" });

/** Finds the caller by the header `Authorization` of a call. It never rejects. */
export type Identify = (call: Pick<Call, "headerSource">) => Promise<Caller>;

/**
 * Makes the finder of callers by their bearer tokens.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function createIdentify(keys: KeyFinder, clock: () => number): Identify {
  return async ({ headerSource }) => {
    const lines = headerSource.headerLines("authorization");
    const [line = ""] = lines;
    if (lines.length > 1) {
      return anonymous(apiKeyInvalid());
    }
    const token = /^bearer +/i.test(line) ? line.slice("bearer ".length).trim() : "";
    if (token === "") {
      return anonymous(apiKeyMissing());
    }
    try {
      const found = await keys.find(token);
      if (found === undefined) {
        return anonymous(apiKeyInvalid());
      }
      const refusal = refusalOf(found, clock());
      return refusal === undefined ? found : anonymous(refusal);
    } catch (error) {
      return anonymous(error);
    }
  };
}

/** A caller whose key cannot be looked up is anonymous, too, because its answer needs the same headers. */
function anonymous(refusal: unknown): Caller {
  return { key: undefined, refusal };
}

/**
 * Identifies the caller. It refuses nobody: the limits interceptor counts anonymous requests before it refuses them, and
 * adds the headers.
 */
export function authInterceptor(identify: Identify): CallInterceptor {
  return {
    wrap: (next) => async (call) => {
      const caller = await identify(call);
      call.contextValues.set(callerKey, caller);
      call.exchange.record.keyId = caller.key?.id;
      return await next(call);
    },
  };
}

/**
 * Admits a call only if its key has the scope that the method's proto names. Some methods name no scope. The synthetic
 * method of requests that match no RPC names none, either.
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
