import { createContextKey, type Interceptor } from "@connectrpc/connect";
import { apiKeyExpired, apiKeyInvalid, apiKeyMissing, apiKeyRevoked, type DomainError } from "../domain/errors.ts";
import type { FoundKey, Key } from "../domain/key.ts";
import { hashSecret, isSecret } from "../domain/key-secret.ts";
import type { KeyStore } from "../domain/store.ts";
import { exchangeKey } from "../rpc/create-endpoint.ts";

/** Who calls: the holder of a valid key, or somebody who is not let in, and why. */
export type Caller = { readonly key: Key } | { readonly key: undefined; readonly refusal: DomainError };

/** Set by the auth interceptor for all that follow. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: "caller" });

/**
 * Finds out who calls, from the bearer token. It refuses nobody yet: a stranger's requests are counted too, and what
 * refuses them is the limits interceptor, which knows the headers that go with it.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function authInterceptor(keys: KeyStore, clock: () => number): Interceptor {
  return (next) => async (request) => {
    const lines = request.contextValues.get(exchangeKey)?.headerLines("authorization") ?? [];
    request.contextValues.set(callerKey, await identify(lines));
    return next(request);
  };

  async function identify(lines: readonly string[]): Promise<Caller> {
    const token = bearerToken(lines);
    if (typeof token !== "string") {
      return stranger(token.refusal);
    }
    const found = isSecret(token) ? await keys.findKey(hashSecret(token)) : undefined;
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

function holder({ key, secretExpiresAtMs }: FoundKey, nowMs: number): Caller {
  if (key.revokedAtMs !== undefined) {
    return stranger(apiKeyRevoked());
  }
  const expiresAtMs = Math.min(key.expiresAtMs ?? Infinity, secretExpiresAtMs ?? Infinity);
  return nowMs < expiresAtMs ? { key } : stranger(apiKeyExpired());
}

function stranger(refusal: DomainError): Caller {
  return { key: undefined, refusal };
}
