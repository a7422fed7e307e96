import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Interceptor } from "@connectrpc/connect";

const header = "idempotency-key";

/**
 * Gives each call that may change something an idempotency key, unless it has one: the service does such a call once,
 * however often it is sent. It must be outside of the retry interceptor, so that all attempts share the key.
 *
 * Source: https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 */
export const idempotencyKeys: Interceptor = (next) => (request) => {
  const { idempotency } = request.method;
  if (idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS && !request.header.has(header)) {
    request.header.set(header, newKey());
  }
  return next(request);
};

/** Whether a call with these headers is done once, however often it is sent. */
export function hasIdempotencyKey(headers: Headers): boolean {
  return headers.has(header);
}

/**
 * Makes a key of the time in milliseconds and 80 random bits. With the time first, the service stores keys that were
 * made together side by side, which is quicker. `crypto.randomUUID` is missing on pages without TLS.
 */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  const random = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${Date.now().toString(16).padStart(12, "0")}${random}`;
}
