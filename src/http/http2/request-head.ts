import type { RequestHead } from "../exchange.ts";
import { token } from "../header-list.ts";
import { headersTooLarge, type ProtocolError, spacedValue } from "../protocol-error.ts";
import { authorityFault, isSameAuthority } from "../target.ts";
import { type Field, FieldKind, fieldOverhead } from "./field.ts";

/** The largest headers of a request, in bytes: their names and values. Source: docs/contract.md#http */
const maxHeaderBytes = 16 * 1024;

/**
 * The largest header list, in bytes: each field counts `fieldOverhead` more, as in SETTINGS_MAX_HEADER_LIST_SIZE. So
 * the setting tells clients this limit, which is above `maxHeaderBytes`: some headers within that have many fields.
 */
export const maxHeaderListBytes = 64 * 1024;

/** The head of a request over HTTP/2. Its headers include the pseudo-header fields. The target is empty for CONNECT. */
export interface Http2Head extends RequestHead {
  /** Undefined if the request has no Content-Length. */
  readonly contentLength: number | undefined;
}

/**
 * Reads the fields of a request. Returns undefined if the request is malformed. `fault` reports what the answer can
 * name: spaces around a value, a repeated `Host`, and headers that are too large.
 * Source: RFC 9113, sections 8.2 and 8.3.1
 */
export function readRequestHead(fields: readonly Field[]): Http2Head | undefined {
  const rawHeaders: string[] = [];
  /** The value of each field with a kind of its own, by `FieldKind`. */
  const values: (string | undefined)[] = [];
  let isRegular = false;
  let fault: ProtocolError | undefined;
  let listBytes = 0;
  for (const { name, value, size, kind } of fields) {
    rawHeaders.push(name, value);
    listBytes += size;
    const isPseudo = kind >= FieldKind.method && kind !== FieldKind.spaced;
    if (kind === FieldKind.malformed || (isPseudo && isRegular)) {
      return undefined;
    }
    isRegular = !isPseudo;
    if (kind === FieldKind.spaced) {
      fault ??= spacedValue();
    } else if (kind !== FieldKind.regular) {
      const before = values[kind];
      if (before !== undefined && (isPseudo || before !== value)) {
        return undefined;
      }
      if (kind === FieldKind.host && before !== undefined) {
        fault ??= authorityFault(undefined);
      }
      values[kind] = value;
    }
  }
  const method = values[FieldKind.method];
  const scheme = values[FieldKind.scheme];
  const path = values[FieldKind.path];
  const authority = values[FieldKind.authority];
  const host = values[FieldKind.host];
  const contentLength = values[FieldKind.contentLength];
  const isValidTarget =
    method === "CONNECT"
      ? scheme === undefined && path === undefined && authority !== undefined
      : schemeForm.test(scheme ?? "") && isPath(path, method);
  const isSameHost = host === undefined || authority === undefined || isSameAuthority(host, authority, scheme);
  const isValidLength = contentLength === undefined || /^\d{1,15}$/.test(contentLength);
  if (method === undefined || !token.test(method) || !isValidTarget || !isSameHost || !isValidLength) {
    return undefined;
  }
  return {
    method,
    target: isWeb(scheme) ? (path ?? "") : `${scheme}://${authority ?? ""}${path}`,
    rawHeaders,
    fault: isTooLarge(listBytes, fields.length) ? headersTooLarge() : fault,
    authority,
    contentLength: contentLength === undefined ? undefined : Number(contentLength),
  };
}

/** Whether requests of the scheme are for this service. Those of other schemes are for proxies. CONNECT has none. */
function isWeb(scheme: string | undefined): boolean {
  return scheme === undefined || /^https?$/i.test(scheme);
}

function isTooLarge(listBytes: number, count: number): boolean {
  return listBytes > maxHeaderListBytes || listBytes - count * fieldOverhead > maxHeaderBytes;
}

/** Another text would be read as a part of the path, or of the authority. Source: RFC 3986, section 3.1 */
const schemeForm = /^[a-z][a-z0-9+.-]*$/i;

/** A path as HTTP/1.1 takes it: without spaces. */
const pathForm = /^\/[\x21-\x7e\x80-\xff]*$/;

function isPath(path: string | undefined, method: string | undefined): boolean {
  return path !== undefined && (pathForm.test(path) || (path === "*" && method === "OPTIONS"));
}

/**
 * Whether these fields are valid trailers: none is a pseudo-header field, malformed, or with spaces around its value.
 */
export function areTrailers(fields: readonly Field[]): boolean {
  return fields.every(({ kind }) => kind <= FieldKind.contentLength);
}
