import type { StreamResponse, UnaryResponse } from "@connectrpc/connect";
import { toConnectError } from "./errors.ts";

type Response = UnaryResponse | StreamResponse;

/**
 * Puts headers on the answer of a call, whether it succeeds or fails: a response has headers of its own, and of a
 * failure only the error's metadata go out.
 */
export async function withHeaders(append: (header: Headers) => void, call: () => Promise<Response>): Promise<Response> {
  try {
    const response = await call();
    append(response.header);
    return response;
  } catch (reason) {
    const error = toConnectError(reason);
    append(error.metadata);
    throw error;
  }
}
