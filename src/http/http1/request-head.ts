import type { RequestHead } from "../exchange.ts";

/** The head of a request over HTTP/1.1, and how its body is framed. */
export interface Http1Head extends RequestHead, Framing {
  readonly version: "1.0" | "1.1";
}

/** What the fields of a head say about the message and its connection. */
interface Framing {
  /** The length of the body in bytes; undefined for a chunked body. */
  readonly contentLength: number | undefined;
  /** Whether the client waits for `100 Continue` before it sends the body. */
  readonly isExpectant: boolean;
  /** Whether the client wants to send further requests. */
  readonly isKeptAlive: boolean;
}

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const text = "[\\t\\x20-\\x7e\\x80-\\xff]*";

/**
 * A head without the empty line at its end. Each line ends with CR and LF, none is folded, and no name has spaces
 * around it. Source: https://www.rfc-editor.org/rfc/rfc9112#section-3
 */
const grammar = new RegExp(`^${token} [\\x21-\\x7e\\x80-\\xff]+ HTTP/1\\.[01](?:\\r\\n${token}:${text})*$`);

/**
 * The `Transfer-Encoding` of a body: `chunked` alone. No other coding is decoded here, and two parsers could frame
 * anything else in different ways.
 * Source: RFC 9112, section 6.3
 */
const chunkedAlone = /\r\ntransfer-encoding:[\t ]*chunked(?:\r\n|$)/i;

const digits = /^\d{1,15}$/;

/**
 * Parses a head. Returns undefined if it is malformed, or if two parsers could disagree on where its body ends.
 *
 * It also returns undefined for `CONNECT`, which is for proxies: the bytes that follow it are not HTTP.
 */
export function parseHead(head: string): Http1Head | undefined {
  if (!grammar.test(head) || head.startsWith("CONNECT ")) {
    return undefined;
  }
  const lineEnd = head.indexOf("\r\n");
  const first = lineEnd < 0 ? head : head.slice(0, lineEnd);
  const methodEnd = first.indexOf(" ");
  const version = first.endsWith("1") ? "1.1" : "1.0";
  const rawHeaders = readFields(head, lineEnd);
  const framing = readFraming(rawHeaders, version);
  if (framing === undefined || (framing.contentLength === undefined && !chunkedAlone.test(head))) {
    return undefined;
  }
  return {
    method: first.slice(0, methodEnd),
    target: first.slice(methodEnd + 1, -" HTTP/1.1".length),
    version,
    rawHeaders,
    ...framing,
  };
}

/** Reads the field lines. `lineEnd` is the end of the request line, or negative if no fields follow it. */
function readFields(head: string, lineEnd: number): string[] {
  const raw: string[] = [];
  for (let at = lineEnd; at >= 0; ) {
    const start = at + 2;
    const colon = head.indexOf(":", start);
    at = head.indexOf("\r\n", colon);
    raw.push(head.slice(start, colon).toLowerCase(), trimmed(head, colon + 1, at < 0 ? head.length : at));
  }
  return raw;
}

/**
 * The field value from `start` to `end`, without the spaces and tabs around it. The grammar allows no other characters
 * below 0x21.
 * Source: RFC 9112, section 5.1
 */
function trimmed(head: string, start: number, end: number): string {
  let first = start;
  let last = end - 1;
  while (first <= last && head.charCodeAt(first) <= 0x20) {
    first += 1;
  }
  while (last > first && head.charCodeAt(last) <= 0x20) {
    last -= 1;
  }
  return head.slice(first, last + 1);
}

/** Returns undefined if two fields say how long the body is, or if the one that does is invalid. */
function readFraming(raw: readonly string[], version: "1.0" | "1.1"): Framing | undefined {
  let length: string | undefined;
  let isChunked = false;
  let connection = "";
  let expect = "";
  for (let i = 0; i < raw.length; i += 2) {
    const value = raw[i + 1] as string;
    switch (raw[i]) {
      case "content-length":
        if (length !== undefined || !digits.test(value)) {
          return undefined;
        }
        length = value;
        break;
      case "transfer-encoding":
        if (isChunked || version === "1.0") {
          return undefined;
        }
        isChunked = true;
        break;
      case "connection":
        connection += `,${value}`;
        break;
      case "expect":
        expect = value;
        break;
      default:
    }
  }
  if (isChunked && length !== undefined) {
    return undefined;
  }
  return {
    contentLength: isChunked ? undefined : Number(length ?? 0),
    isExpectant: version === "1.1" && expect.toLowerCase() === "100-continue",
    isKeptAlive: version === "1.1" && !/(?:^|,)\s*close\s*(?:,|$)/i.test(connection),
  };
}
