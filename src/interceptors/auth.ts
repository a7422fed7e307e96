import { createContextKey } from "@connectrpc/connect";
import { apiKeyInvalid, apiKeyMissing, type DomainError, scopeMissing } from "../domain/errors.ts";
import { endOf, type FoundKey, type Key, refusalOf } from "../domain/key.ts";
import type { KeyFinder } from "../domain/store.ts";
import type { CallHandler, CallInterceptor } from "../rpc/call.ts";
import { operationOf } from "./operation.ts";

/** The caller: the holder of a valid key, or an anonymous one and why it is refused. */
export type Caller =
  | {
      readonly key: Key;
      /**
       * When the key ends, or the secret by which it was found, in milliseconds since the Unix epoch; infinity for
       * never.
       */
      readonly endsAtMs: number;
    }
  | { readonly key: undefined; readonly refusal: unknown };

/** Set by the auth interceptor. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: "caller" });

/** Finds the caller by the lines of the header `Authorization`. It never rejects. */
export type Identify = (lines: readonly string[]) => Promise<Caller>;

/**
 * Makes the finder of callers by their bearer tokens.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function createIdentify(keys: KeyFinder, clock: () => number): Identify {
  return (lines) => {
    const token = bearerToken(lines);
    return typeof token === "string"
      ? keys.find(token).then((found) => callerOf(found, clock()), anonymous)
      : Promise.resolve(anonymous(token.refusal));
  };
}

/**
 * Identifies the caller. It refuses nobody: the limits interceptor counts anonymous requests before it refuses them, and
 * adds the headers.
 */
export function authInterceptor(identify: Identify): CallInterceptor {
  return {
    wrap: (next) => async (call) => {
      const caller = await identify(call.headerLines("authorization"));
      call.contextValues.set(callerKey, caller);
      call.exchange.record.keyId = caller.key?.id;
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
  return found === undefined || refusal !== undefined ? anonymous(refusal) : { key: found.key, endsAtMs: endOf(found) };
}

/** A caller whose key cannot be looked up is anonymous, too, because its answer needs the same headers. */
function anonymous(refusal: unknown): Caller {
  return { key: undefined, refusal };
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
