import type { Answer, Exchange } from "../http/exchange.ts";

/**
 * For GET and HEAD: answers 304 when the client has this version already: `If-None-Match` names its `ETag`. Only the client may cache an
 * answer with an `ETag`, and it revalidates each time.
 *
 * Source: RFC 9110, 13.1.2 and 15.4.5
 */
export function answerConditionally(exchange: Exchange, answer: Answer): Answer {
  const { header } = answer;
  const etag = header.get("etag");
  if (etag === null) {
    return answer;
  }
  if (!header.has("cache-control")) {
    header.set("cache-control", "private, no-cache");
  }
  const known = exchange.header("if-none-match");
  if (known === undefined || !matchesEtag(known, etag)) {
    return answer;
  }
  header.delete("content-type");
  header.delete("content-encoding");
  return { status: 304, header };
}

/** Whether `If-None-Match` names an entity tag, or is `*`. Tags are compared weakly. */
export function matchesEtag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === "*") {
    return true;
  }
  return ifNoneMatch.match(opaqueTags)?.includes(etag.replace("W/", "")) ?? false;
}

/** Tags may contain commas, but no spaces or quotes. Source: RFC 9110, 8.8.3 */
const opaqueTags = /"[\x21\x23-\x7e\x80-\xff]*"/g;
