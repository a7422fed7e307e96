import type { HttpRequest } from "../support/http.ts";

/** How a request without a valid key is changed to get in all the same. */
export type Trick = (request: HttpRequest) => HttpRequest;

/** The same request with these headers, which are asked for when it is made. */
export function withHeaders(headers: () => Record<string, string | string[]>): Trick {
  return (request) => ({ ...request, headers: { ...request.headers, ...headers() } });
}

const authorization = (value: () => string | string[]) => withHeaders(() => ({ authorization: value() }));
const withPath =
  (change: (path: string) => string): Trick =>
  (request) => ({ ...request, path: change(request.path) });
const withMethod =
  (method: string): Trick =>
  (request) => ({ ...request, method });
const encode = (text: string) =>
  text.replaceAll(/[a-z]/gi, (letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, "0")}`);

/** Keys of a test: one that is valid, and others that are no longer, or elsewhere. */
export interface Keys {
  readonly good: string;
  readonly revoked: string;
  readonly expired: string;
  readonly foreign: string;
}

/** What may stand in the place of a key, or of the header that a key belongs in. */
export function credentialTricks({ good, revoked, expired, foreign }: Keys): Readonly<Record<string, Trick>> {
  return {
    "no key": (request) => request,
    "a revoked key": authorization(() => `Bearer ${revoked}`),
    "an expired key": authorization(() => `Bearer ${expired}`),
    "another store's key": authorization(() => `Bearer ${foreign}`),
    "a key of another letter": authorization(() => `Bearer ${good.slice(0, -1)}${good.endsWith("0") ? "1" : "0"}`),
    "a key in lower case": authorization(() => `Bearer ${good.toLowerCase()}`),
    "a key cut short": authorization(() => `Bearer ${good.slice(0, -1)}`),
    "a key and more": authorization(() => `Bearer ${good}0`),
    "a key twice": authorization(() => `Bearer ${good}${good}`),
    "a key in two headers": authorization(() => [`Bearer ${good}`, `Bearer ${good}`]),
    "a key after another scheme's": authorization(() => ["Basic x", `Bearer ${good}`]),
    "a key in a list": authorization(() => `Bearer ${good}, Bearer ${good}`),
    "a key with a comma": authorization(() => `Bearer ${good},`),
    "a key in quotation marks": authorization(() => `Bearer "${good}"`),
    "a key in base64": authorization(() => `Basic ${Buffer.from(`${good}:`).toString("base64")}`),
    "a key in percents": authorization(() => `Bearer ${encode(good)}`),
    "a key as a parameter": authorization(() => `Bearer token=${good}`),
    "a key without a scheme": authorization(() => good),
    "a key after a tab": authorization(() => `Bearer\t${good}`),
    "a key after a colon": authorization(() => `Bearer:${good}`),
    "a key's hash": authorization(() => `Bearer ${"a".repeat(64)}`),
    "a key folded": authorization(() => `Bearer\r\n ${good}`),
    "a key with NUL": authorization(() => `Bearer ${good}\0`),
    "NUL before a key": authorization(() => `Bearer \0${good}`),
    __proto__: authorization(() => "Bearer __proto__"),
    constructor: authorization(() => "Bearer constructor"),
    "a name with __proto__": withHeaders(() => ({ ["__proto__"]: `Bearer ${good}`, constructor: `Bearer ${good}` })),
    SQL: authorization(() => "Bearer ' OR 1=1 --"),
    "a wildcard": authorization(() => "Bearer psk_%"),
    "an empty key": authorization(() => "Bearer "),
    "a cookie": withHeaders(() => ({ cookie: `authorization=Bearer ${good}; api_key=${good}` })),
    "a proxy's header": withHeaders(() => ({ "proxy-authorization": `Bearer ${good}` })),
    "other headers": withHeaders(() => ({ "x-api-key": good, "api-key": good, "x-authorization": `Bearer ${good}` })),
    "a header with a blank": withHeaders(() => ({ "authorization ": `Bearer ${good}` })),
    "a header with an underscore": withHeaders(() => ({ authorization_: `Bearer ${good}` })),
    "binary metadata": withHeaders(() => ({ "authorization-bin": Buffer.from(`Bearer ${good}`).toString("base64") })),
    "a hop's header": (request) =>
      withHeaders(() => ({ authorization: `Bearer ${foreign}`, connection: "x" }))(request),
    "a query": withPath((path) => `${path}?access_token=${good}&key=${good}&authorization=Bearer%20${good}`),
    "a fragment": withPath((path) => `${path}#authorization=Bearer ${good}`),
    "a user in the target": withPath((path) => `http://${good}:@x${path}`),
  };
}

/** What may be done to the path, the method, and what proxies put in their place. */
export const pathTricks: Readonly<Record<string, Trick>> = {
  "two slashes": withPath((path) => `/${path}`),
  "two slashes within": withPath((path) => path.replace(/(?<=.)\//, "//")),
  "a slash at the end": withPath((path) => `${path}/`),
  "a dot": withPath((path) => `/.${path}`),
  "dots from a page": withPath((path) => `/docs/..${path}`),
  "dots from health": withPath((path) => `/grpc.health.v1.Health/Check/../..${path}`),
  "dots in percents": withPath((path) => `/docs/%2e%2e${path}`),
  "dots in percents twice": withPath((path) => `/docs/%252e%252e${path}`),
  "a backslash": withPath((path) => `/docs\\..${path}`),
  "a slash in percents": withPath((path) => path.replace(/(?<=.)\//, "%2f")),
  "letters in percents": withPath((path) => path.split("/").map(encode).join("/")),
  "upper case": withPath((path) => path.toUpperCase()),
  "a semicolon": withPath((path) => `${path};/docs`),
  "NUL in percents": withPath((path) => `${path}%00`),
  "a tab": withPath((path) => `${path}\t`),
  "a page after NUL": withPath((path) => `/docs%00${path}`),
  "a bad percent": withPath((path) => `${path}%zz`),
  "too long UTF-8": withPath((path) => path.replace(/(?<=.)\//, "%c0%af")),
  "the absolute form": withPath((path) => `http://x${path}`),
  "the absolute form of https": withPath((path) => `HTTPS://x${path}`),
  "the absolute form of a page": withPath((path) => `http://x/docs${path}`),
  "no slash": withPath((path) => path.slice(1)),
  "an asterisk": withPath(() => "*"),
  __proto__: withPath(() => "/__proto__"),
  "__proto__ in the API": withPath(() => "/v1/__proto__"),
  constructor: withPath((path) => `${path}/constructor`),
  GET: withMethod("GET"),
  POST: withMethod("POST"),
  PUT: withMethod("PUT"),
  DELETE: withMethod("DELETE"),
  TRACE: withMethod("TRACE"),
  CONNECT: withMethod("CONNECT"),
  "a method that does not exist": withMethod("PROPFIND"),
  "the method in lower case": (request) => ({ ...request, method: request.method.toLowerCase() }),
  "a method's override": withHeaders(() => ({ "x-http-method-override": "OPTIONS", "x-method-override": "HEAD" })),
  "a target's override": withHeaders(() => ({ "x-original-url": "/docs", "x-rewrite-url": "/docs" })),
  "an address within": withHeaders(() => ({ "x-real-ip": "127.0.0.1", forwarded: "for=127.0.0.1" })),
  "an origin": withHeaders(() => ({ origin: "null", "access-control-request-method": "PATCH" })),
};
