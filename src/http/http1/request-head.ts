import { trimSpaces } from "../exchange.ts";

/** The head of a request over HTTP/1.1, and how its body is framed. */
export interface Http1Head {
  readonly method: string;
  readonly target: string;
  /** Names and values in turn, as sent; values without the spaces around them. */
  readonly raw: readonly string[];
  readonly version: "1.0" | "1.1";
  /** The length of the body in bytes; undefined for chunks. */
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

/** Chunked once, as the last coding. Anything else could be understood in two ways. Source: RFC 9112, section 6.3 */
const chunkedLast = new RegExp(`^[\\t ]*(?:(?!chunked[\\t ]*,)${token}[\\t ]*,[\\t ]*)*chunked$`, "i");

const digits = /^\d{1,15}$/;

/**
 * Parses a head. Returns undefined for what is no request, or one whose end could be taken for two places.
 *
 * `CONNECT` is no request either: it is for proxies, and what follows it is no HTTP.
 */
export function parseHead(head: string): Http1Head | undefined {
  if (!grammar.test(head) || head.startsWith("CONNECT ")) {
    return undefined;
  }
  const lineEnd = head.indexOf("\r\n");
  const first = lineEnd < 0 ? head : head.slice(0, lineEnd);
  const methodEnd = first.indexOf(" ");
  const fields = new FieldReader();
  for (let at = lineEnd; at >= 0; ) {
    const start = at + 2;
    at = head.indexOf("\r\n", start);
    fields.read(at < 0 ? head.slice(start) : head.slice(start, at));
  }
  const version = first.endsWith("1") ? "1.1" : "1.0";
  const isChunked = fields.transferEncoding !== undefined;
  if (fields.isAmbiguous || (isChunked && (version === "1.0" || !chunkedLast.test(fields.transferEncoding ?? "")))) {
    return undefined;
  }
  return {
    method: first.slice(0, methodEnd),
    target: first.slice(methodEnd + 1, -" HTTP/1.1".length),
    raw: fields.raw,
    version,
    contentLength: isChunked ? undefined : Number(fields.contentLength ?? 0),
    isExpectant: version === "1.1" && fields.expect?.toLowerCase() === "100-continue",
    isKeptAlive: version === "1.1" && !/(?:^|,)\s*close\s*(?:,|$)/i.test(fields.connection ?? ""),
  };
}

/** Collects the fields of a head, and those that say how the message is framed. */
class FieldReader {
  readonly raw: string[] = [];
  contentLength: string | undefined;
  transferEncoding: string | undefined;
  connection: string | undefined;
  expect: string | undefined;
  isAmbiguous = false;

  read(line: string): void {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1);
    const trimmed = trimSpaces(value);
    this.raw.push(name, trimmed);
    switch (name.length) {
      case 6:
        this.expect = name.toLowerCase() === "expect" ? trimmed : this.expect;
        break;
      case 10:
        if (name.toLowerCase() === "connection") {
          this.connection = this.connection === undefined ? trimmed : `${this.connection},${trimmed}`;
        }
        break;
      case 14:
        if (name.toLowerCase() === "content-length") {
          this.#isFramed(digits.test(trimmed));
          this.contentLength = trimmed;
        }
        break;
      case 17:
        if (name.toLowerCase() === "transfer-encoding") {
          this.#isFramed(true);
          this.transferEncoding = value;
        }
        break;
      default:
    }
  }

  /** One field at most says how long the body is. */
  #isFramed(isValid: boolean): void {
    this.isAmbiguous ||= !isValid || this.contentLength !== undefined || this.transferEncoding !== undefined;
  }
}
