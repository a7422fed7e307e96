import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import type { ApiKey } from "./key.ts";

/** What may follow `Bearer ` in a header. Source: RFC 6750, section 2.1 */
const tokenForm = /^[A-Za-z0-9._~+/-]+=*$/;

/**
 * Sends the key with every call to `origin`. A call to any other origin fails with `FailedPrecondition` before anything
 * of it is sent.
 */
export function createKeyInterceptor(apiKey: ApiKey, origin: string): Interceptor {
  if (typeof apiKey !== "function") {
    assertApiKey(apiKey);
  }
  return (next) => async (request) => {
    if (new URL(request.url).origin !== origin) {
      throw new ConnectError(
        "The key is not for this origin. Give the transport the client's baseUrl.",
        Code.FailedPrecondition,
      );
    }
    const key = typeof apiKey === "function" ? await unlessAborted(apiKey, request.signal) : apiKey;
    assertApiKey(key);
    request.header.set("authorization", `Bearer ${key}`);
    return next(request);
  };
}

/** What a function resolves to. Rejects with the signal's reason as soon as it aborts: the function may never settle. */
async function unlessAborted<T>(start: () => T | Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
  });
  try {
    // A function that throws at once must not leave the other promise without a handler.
    return await Promise.race([aborted, (async () => start())()]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/**
 * Throws an error that does not repeat the key, as an error of `Headers` would. In JavaScript the key may be of any
 * type, and it is undefined where its environment variable is not set.
 */
function assertApiKey(key: unknown): void {
  if (key === undefined || key === null || key === "") {
    throw new ConnectError("apiKey: it is empty. Is the variable set that it comes from?", Code.InvalidArgument);
  }
  if (typeof key !== "string" || !tokenForm.test(key)) {
    throw new ConnectError("apiKey: this is no API key. Is there a space or a line break in it?", Code.InvalidArgument);
  }
}
