import { pipeline, Readable, type Transform } from "node:stream";
import { constants, createBrotliCompress, createGzip } from "node:zlib";
import { type Answer, type Exchange, isStream } from "../http/exchange.ts";

/** `application/json`, with parameters or without. Source: RFC 9110, 8.3.1. */
const json = /^application\/json[ \t]*(?:;(.*))?$/i;

/** The longest media type that is parsed, in characters. A longer one is never JSON, and could take long to parse. */
const maxLength = 256;

/** A parameter, its value a token or a quoted string. */
const parameter = /[ \t]*([^=; \t]+)=(?:"([^"]*)"|([^; \t]*))[ \t]*(?:;|$)/g;

/** Whether a media type is JSON in UTF-8. */
export function isUtf8Json(type: string): boolean {
  const match = type.length > maxLength ? null : json.exec(type.trim());
  return match !== null && charsets(match[1] ?? "").every((charset) => charset.toLowerCase() === "utf-8");
}

function charsets(parameters: string): string[] {
  return [...parameters.matchAll(parameter)]
    .filter(([, name]) => name?.toLowerCase() === "charset")
    .map(([, , quoted, plain]) => quoted ?? plain ?? "");
}

/**
 * The quality that `Accept` gives to the first of `types` that it lists; 0 when it lists none. `types` begins with the
 * most specific one.
 *
 * Source: RFC 9110, 12.5.1
 */
export function qualityOf(accept: string, types: readonly string[]): number {
  const ranges = parsePreferences(accept);
  const found = types.map((type) => ranges.find(({ name }) => name === type)).find((range) => range !== undefined);
  return found?.quality ?? 0;
}

/** The content codings that answers can have, the best first. */
const contentCodings = ["br", "gzip"] as const;

/** One of `contentCodings`. */
export type ContentCoding = (typeof contentCodings)[number];

/**
 * The content coding with the highest quality in `Accept-Encoding`. Among equals, it is the first of `contentCodings`.
 * Undefined if the body is sent without a coding.
 *
 * Source: RFC 9110, 12.5.3
 */
export function chooseCoding(acceptEncoding: string | undefined): ContentCoding | undefined {
  if (acceptEncoding === undefined || acceptEncoding === "") {
    return undefined;
  }
  const qualities = new Map(parsePreferences(acceptEncoding).map(({ name, quality }) => [name, quality]));
  const others = qualities.get("*") ?? 0;
  // `identity` is acceptable unless the header refuses it. It is preferred only if the header names it.
  let best = qualities.get("identity") ?? 0;
  let chosen: ContentCoding | undefined;
  for (const coding of contentCodings) {
    const quality = qualities.get(coding) ?? qualities.get(`x-${coding}`) ?? others;
    if (quality > best || (quality === best && quality > 0 && chosen === undefined)) {
      best = quality;
      chosen = coding;
    }
  }
  return chosen;
}

/** One item of a header such as `Accept` or `Accept-Encoding`. */
interface Preference {
  /** In lower case, without its parameters. */
  readonly name: string;
  /** From 0, not acceptable, to 1. */
  readonly quality: number;
}

/**
 * Reads a list of items with their weights. An item with a malformed weight is not acceptable.
 *
 * Source: RFC 9110, 12.4.2
 */
function parsePreferences(header: string): Preference[] {
  return header.split(",").map(parsePreference);
}

function parsePreference(text: string): Preference {
  const [name = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const weight = parameters.find((part) => part.startsWith("q="))?.slice(2) ?? "1";
  return { name, quality: qvalue.test(weight) ? Number(weight) : 0 };
}

const qvalue = /^(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/;

/** The shortest body that is compressed, in bytes. A shorter answer is one packet either way. */
const minBytes = 1024;

/** How much is compressed at a time, in bytes. */
const chunkSize = 64 * 1024;

/**
 * At this level, Brotli is faster than gzip, and its output is smaller. A window of 512 KiB limits the memory of each
 * answer.
 */
const brotliParams = {
  [constants.BROTLI_PARAM_QUALITY]: 4,
  [constants.BROTLI_PARAM_LGWIN]: 19,
  [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
};

const compressors: Record<ContentCoding, () => Transform> = {
  br: () => createBrotliCompress({ chunkSize, params: brotliParams }),
  gzip: () => createGzip({ chunkSize, level: 6 }),
};

/**
 * Compresses a long body with the content coding that the request asks for. The compression runs while the body is
 * sent, off the event loop, and no faster than the client reads.
 */
export function codeAnswer(exchange: Exchange, answer: Answer): Answer {
  const { body, header } = answer;
  if (body === undefined || (!isStream(body) && Buffer.byteLength(body) < minBytes)) {
    return answer;
  }
  header.append("vary", "Accept-Encoding");
  const coding = chooseCoding(exchange.header("accept-encoding"));
  if (coding === undefined) {
    return answer;
  }
  header.set("content-encoding", coding);
  return { ...answer, body: compress(body, coding) };
}

/** Compression begins when the body is first pulled, so the answer to HEAD costs nothing. */
async function* compress(
  body: string | Uint8Array | AsyncIterable<Uint8Array>,
  coding: ContentCoding,
): AsyncGenerator<Uint8Array> {
  const source = Readable.from(isStream(body) ? body : [body]);
  // An error on either side ends the other. The iteration below throws it.
  const compressed = pipeline(source, compressors[coding](), () => {});
  yield* compressed;
}

/**
 * Answers a GET or HEAD with 304 if `If-None-Match` names the `ETag` of the answer, because the client already has this
 * version. Only the client may cache an answer with an `ETag`, and must revalidate it each time.
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
