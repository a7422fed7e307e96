import { isSameAuthority } from "../target.ts";
import { type Field, FieldKind } from "./field.ts";

/** The head of a request. */
export interface RequestHead {
  readonly method: string;
  /** Empty for CONNECT. */
  readonly path: string;
  readonly authority: string | undefined;
  /** Undefined if the request has no Content-Length. */
  readonly contentLength: number | undefined;
  /** Whether a value has spaces or tabs around it. */
  readonly isSpaced: boolean;
  /** Names and values in turn, including the pseudo-header fields. */
  readonly raw: readonly string[];
}

/**
 * Reads the fields of a request. Returns undefined if the request is malformed. Spaces around a value are an exception:
 * `isSpaced` reports them, so that the answer can name the fault.
 * Source: RFC 9113, sections 8.2 and 8.3.1
 */
export function readRequestHead(fields: readonly Field[]): RequestHead | undefined {
  const raw: string[] = [];
  /** The value of each field with a kind of its own, by `FieldKind`. */
  const values: (string | undefined)[] = [];
  let isRegular = false;
  let isSpaced = false;
  for (const { name, value, kind } of fields) {
    raw.push(name, value);
    const isPseudo = kind >= FieldKind.method && kind !== FieldKind.spaced;
    if (kind === FieldKind.malformed || (isPseudo && isRegular)) {
      return undefined;
    }
    isRegular = !isPseudo;
    if (kind === FieldKind.spaced) {
      isSpaced = true;
    } else if (kind !== FieldKind.regular) {
      const before = values[kind];
      if (before !== undefined && (isPseudo || before !== value)) {
        return undefined;
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
      : scheme !== undefined && isPath(path, method);
  const isSameHost = host === undefined || authority === undefined || isSameAuthority(host, authority, scheme);
  const isValidLength = contentLength === undefined || /^\d{1,15}$/.test(contentLength);
  if (method === undefined || method === "" || !isValidTarget || !isSameHost || !isValidLength) {
    return undefined;
  }
  const length = contentLength === undefined ? undefined : Number(contentLength);
  return { method, path: path ?? "", authority, contentLength: length, isSpaced, raw };
}

function isPath(path: string | undefined, method: string | undefined): boolean {
  return path !== undefined && (path.startsWith("/") || (path === "*" && method === "OPTIONS"));
}

/**
 * Whether these fields are valid trailers: none is a pseudo-header field, malformed, or with spaces around its value.
 */
export function areTrailers(fields: readonly Field[]): boolean {
  return fields.every(({ kind }) => kind <= FieldKind.contentLength);
}
