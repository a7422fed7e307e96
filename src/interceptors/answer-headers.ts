import type { StreamResponse, UnaryResponse } from "@connectrpc/connect";

import { toConnectError } from "./errors.ts";

type Response = UnaryResponse | StreamResponse;
type HeaderFields = Iterable<readonly [name: string, value: string]>;

/**
 * Puts headers on the answer of a call, whether it succeeds or fails: a response has headers of its own, and of a
 * failure only the error's metadata go out.
 */
export async function withHeaders(fields: HeaderFields, call: () => Promise<Response>): Promise<Response> {
  try {
    const response = await call();
    appendAll(response.header, fields);
    return response;
  } catch (reason) {
    const error = toConnectError(reason);
    appendAll(error.metadata, fields);
    throw error;
  }
}

function appendAll(header: Headers, fields: HeaderFields): void {
  for (const [name, value] of fields) {
    header.append(name, value);
  }
}
