import { badValue } from "../header-list.ts";

/** What a field means for the validity of a request. Source: RFC 9113, sections 8.2 and 8.3.1 */
export const FieldKind = {
  regular: 0,
  host: 1,
  contentLength: 2,
  method: 3,
  scheme: 4,
  path: 5,
  authority: 6,
  /** A field that makes the request malformed. */
  malformed: 7,
  /** A regular field with spaces around its value. It makes the request malformed, too, but the answer says why. */
  spaced: 8,
} as const;

export type FieldKind = (typeof FieldKind)[keyof typeof FieldKind];

/** A field of a header list. Its kind is found once, even if it is in many lists. */
export interface Field {
  readonly name: string;
  readonly value: string;
  /** In bytes. Source: RFC 7541, section 4.1 */
  readonly size: number;
  readonly kind: FieldKind;
}

/** What the size of a field counts beside its name and value, in bytes. Source: RFC 7541, section 4.1 */
export const fieldOverhead = 32;

export function makeField(name: string, value: string): Field {
  return { name, value, size: name.length + value.length + fieldOverhead, kind: kindOf(name, value) };
}

const kinds: Readonly<Record<string, FieldKind>> = {
  ":method": FieldKind.method,
  ":scheme": FieldKind.scheme,
  ":path": FieldKind.path,
  ":authority": FieldKind.authority,
  host: FieldKind.host,
  "content-length": FieldKind.contentLength,
  connection: FieldKind.malformed,
  "keep-alive": FieldKind.malformed,
  "proxy-connection": FieldKind.malformed,
  "transfer-encoding": FieldKind.malformed,
  upgrade: FieldKind.malformed,
};

/** A field name, which HTTP/2 allows in lower case only. Source: RFC 9113, section 8.2.1 */
export const token = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

const spaced = /^[\t ]|[\t ]$/;

function kindOf(name: string, value: string): FieldKind {
  const known = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (badValue.test(value) || (known === undefined && !token.test(name))) {
    return FieldKind.malformed;
  }
  if (name === "te") {
    return value.toLowerCase() === "trailers" ? FieldKind.regular : FieldKind.malformed;
  }
  if (spaced.test(value)) {
    return known === undefined ? FieldKind.spaced : FieldKind.malformed;
  }
  return known ?? FieldKind.regular;
}

/**
 * The static table of HPACK, from index 1 on. Each line is a name and a value.
 * Source: https://www.rfc-editor.org/rfc/rfc7541#appendix-A
 */
const texts = `:authority|
:method|GET
:method|POST
:path|/
:path|/index.html
:scheme|http
:scheme|https
:status|200
:status|204
:status|206
:status|304
:status|400
:status|404
:status|500
accept-charset|
accept-encoding|gzip, deflate
accept-language|
accept-ranges|
accept|
access-control-allow-origin|
age|
allow|
authorization|
cache-control|
content-disposition|
content-encoding|
content-language|
content-length|
content-location|
content-range|
content-type|
cookie|
date|
etag|
expect|
expires|
from|
host|
if-match|
if-modified-since|
if-none-match|
if-range|
if-unmodified-since|
last-modified|
link|
location|
max-forwards|
proxy-authenticate|
proxy-authorization|
range|
referer|
refresh|
retry-after|
server|
set-cookie|
strict-transport-security|
transfer-encoding|
user-agent|
vary|
via|
www-authenticate|`;

/** The static table. The field of index 1 comes first. */
export const staticTable: readonly Field[] = texts.split("\n").map((line) => {
  const [name = "", value = ""] = line.split("|");
  return makeField(name, value);
});
