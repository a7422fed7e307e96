import { hash } from "node:crypto";
import { type DescField, type DescMessage, type DescMethod, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { createContextKey } from "@connectrpc/connect";
import { type DomainError, invalidRequest } from "../domain/errors.ts";
import type { Idempotency } from "../domain/idempotency.ts";
import type { Call, CallInterceptor } from "../rpc/call.ts";
import { rpcName } from "../rpc/endpoint.ts";
import { headerOf, operationOf } from "./operation.ts";

/**
 * Set by the idempotency interceptor for calls that are sent with an idempotency key. An implementation that answers
 * with what it did before sets `Idempotency-Replayed: true` among the headers of its response.
 */
export const idempotencyKey = createContextKey<Idempotency | undefined>(undefined, { description: "idempotency" });

/** The header of a request with its key; over RPC, its metadata. */
const headerName = "Idempotency-Key";

/**
 * Reads the idempotency key of methods that take one. It refuses a malformed key with `INVALID_REQUEST`, and leaves a
 * good one, with the fingerprint of the request, for the implementation. It must follow validation, so that an invalid
 * request is refused whatever its key.
 *
 * Source: https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 */
export const idempotencyInterceptor: CallInterceptor = {
  wrap(next, method) {
    if (!operationOf(method)?.idempotencyKey) {
      return next;
    }
    const fingerprint = fingerprintOf(method);
    const proceedWithKey = async (call: Call, lines: readonly string[]) => {
      const key = parseIdempotencyKey(lines);
      call.contextValues.set(idempotencyKey, { key, fingerprint: fingerprint(call.message as AnyMessage) });
      return await next(call);
    };
    return (call) => {
      const lines = call.headerSource.headerLines("idempotency-key");
      return lines.length === 0 ? next(call) : proceedWithKey(call, lines);
    };
  },
};

type AnyMessage = MessageShape<DescMessage>;

/** 1 to 255 visible ASCII characters that do not begin with a quote. */
const bare = /^[\x21\x23-\x7e][\x21-\x7e]{0,254}$/;

/** The same in quotes, as RFC 8941, 3.3.3 writes a string: a backslash escapes a quote or a backslash. */
const quoted = /^"((?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"$/;

/** The key that the lines of the header name. Throws `INVALID_REQUEST`. Source: docs/contract.md#idempotency */
export function parseIdempotencyKey(lines: readonly string[]): string {
  const [line = "", ...others] = lines;
  if (others.length > 0) {
    throw invalidKey("must be sent once");
  }
  const key = bare.test(line) ? line : quoted.exec(line)?.[1]?.replace(/\\(.)/g, "$1");
  if (key === undefined) {
    throw invalidKey("must be 1 to 255 visible ASCII characters, bare or in quotes");
  }
  return key;
}

function invalidKey(description: string): DomainError {
  return invalidRequest(`${headerName}: ${description}.`, [{ field: headerName, description }]);
}

/**
 * Makes the fingerprints of a method's requests: equal ones for the same content, over whatever protocol. The headers
 * do not count.
 */
function fingerprintOf(method: DescMethod): (message: AnyMessage) => string {
  const inHeaders = method.input.fields.filter((field) => headerOf(field) !== undefined);
  const name = Buffer.from(`${rpcName(method)}\0`);
  return (message) => {
    const content = toBinary(method.input, without(message, inHeaders), { writeUnknownFields: false });
    return hash("sha256", Buffer.concat([name, content]), "hex");
  };
}

/** The message, or a copy of it that leaves out fields with presence. */
function without(message: AnyMessage, fields: readonly DescField[]): AnyMessage {
  const set = fields.filter(({ localName }) => Object.hasOwn(message, localName));
  return set.length === 0 ? message : Object.assign(Object.create(Object.getPrototypeOf(message)), message, blank(set));
}

function blank(fields: readonly DescField[]): Record<string, undefined> {
  return Object.fromEntries(fields.map(({ localName }) => [localName, undefined]));
}
