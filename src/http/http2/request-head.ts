import { type Field, FieldKind } from "./field.ts";

/** The head of a request. */
export interface RequestHead {
  readonly method: string;
  /** Empty for CONNECT. */
  readonly path: string;
  readonly authority: string | undefined;
  /** Undefined where the client does not say. */
  readonly contentLength: number | undefined;
  /** Names and values in turn, the pseudo-header fields among them. */
  readonly raw: readonly string[];
}

/** Reads a request's fields; undefined for a malformed request. Source: RFC 9113, sections 8.2 and 8.3.1 */
export function readRequestHead(fields: readonly Field[]): RequestHead | undefined {
  const raw: string[] = [];
  let method: string | undefined;
  let scheme: string | undefined;
  let path: string | undefined;
  let authority: string | undefined;
  let contentLength: string | undefined;
  let isRegular = false;
  for (const { name, value, kind } of fields) {
    raw.push(name, value);
    const isPseudo = kind >= FieldKind.method;
    if (isPseudo && isRegular) {
      return undefined;
    }
    isRegular = !isPseudo;
    switch (kind) {
      case FieldKind.regular:
        continue;
      case FieldKind.contentLength:
        if (contentLength !== undefined && contentLength !== value) {
          return undefined;
        }
        contentLength = value;
        continue;
      case FieldKind.method:
        if (method !== undefined || value === "") {
          return undefined;
        }
        method = value;
        continue;
      case FieldKind.scheme:
        if (scheme !== undefined) {
          return undefined;
        }
        scheme = value;
        continue;
      case FieldKind.path:
        if (path !== undefined) {
          return undefined;
        }
        path = value;
        continue;
      case FieldKind.authority:
        if (authority !== undefined) {
          return undefined;
        }
        authority = value;
        continue;
      default:
        return undefined;
    }
  }
  const isTarget =
    method === "CONNECT"
      ? scheme === undefined && path === undefined && authority !== undefined
      : scheme !== undefined && isPath(path, method);
  if (method === undefined || !isTarget || (contentLength !== undefined && !/^\d{1,15}$/.test(contentLength))) {
    return undefined;
  }
  const length = contentLength === undefined ? undefined : Number(contentLength);
  return { method, path: path ?? "", authority, contentLength: length, raw };
}

function isPath(path: string | undefined, method: string | undefined): boolean {
  return path !== undefined && (path.startsWith("/") || (path === "*" && method === "OPTIONS"));
}

/** Whether fields may follow a body. */
export function areTrailers(fields: readonly Field[]): boolean {
  return fields.every(({ kind }) => kind <= FieldKind.contentLength);
}
