import type { Answer, Exchange } from "../http/exchange.ts";

/**
 * Turns an answer into 304, when the client has that version already: its `ETag` is among those that the request's
 * `If-None-Match` names. Answers with an `ETag` are kept by nobody but the client, who asks each time.
 *
 * Source: RFC 9110, 13.1.2 and 15.4.5
 */
export function answerConditionally(exchange: Exchange, answer: Answer): Answer {
  if (exchange.method !== "GET" && exchange.method !== "HEAD") {
    return answer;
  }
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

/** They may hold commas, but neither spaces nor quotes. Source: RFC 9110, 8.8.3 */
const opaqueTags = /"[\x21\x23-\x7e\x80-\xff]*"/g;
