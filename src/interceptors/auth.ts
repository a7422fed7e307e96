import { createContextKey, type Interceptor } from "@connectrpc/connect";
import { apiKeyInvalid, apiKeyMissing, type DomainError } from "../domain/errors.ts";
import { type FoundKey, type Key, refusalOf } from "../domain/key.ts";
import { exchangeOf } from "../rpc/running-call.ts";

/** Who calls: the holder of a valid key, or somebody who is not let in, and why. */
export type Caller = { readonly key: Key } | { readonly key: undefined; readonly refusal: DomainError };

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
  return (next) => async (request) => {
    const lines = exchangeOf(request).headerLines("authorization");
    request.contextValues.set(callerKey, await identify(lines));
    return next(request);
  };

  async function identify(lines: readonly string[]): Promise<Caller> {
    const token = bearerToken(lines);
    if (typeof token !== "string") {
      return stranger(token.refusal);
    }
    const found = await keys.find(token);
    return found === undefined ? stranger(apiKeyInvalid()) : holder(found, clock());
  }
}

/** The token of the one `Authorization` header, or why there is none. */
function bearerToken(lines: readonly string[]): string | { refusal: DomainError } {
  if (lines.length > 1) {
    return { refusal: apiKeyInvalid() };
  }
  const token = /^bearer +(?<token>\S.*)$/i.exec(lines[0]?.trim() ?? "")?.groups?.token;
  return token ?? { refusal: apiKeyMissing() };
}

function holder(found: FoundKey, nowMs: number): Caller {
  const refusal = refusalOf(found, nowMs);
  return refusal === undefined ? { key: found.key } : stranger(refusal);
}

function stranger(refusal: DomainError): Caller {
  return { key: undefined, refusal };
}
