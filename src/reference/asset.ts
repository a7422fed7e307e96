import { hash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { answerConditionally, type ContentCoding, chooseCoding } from "../gateway/negotiation.ts";
import type { Answer, Exchange } from "../http/exchange.ts";

/** The options of an asset. */
export interface AssetOptions {
  /** The media type, with its charset if it has one. */
  readonly type: string;
  readonly body: string | Uint8Array;
  /** The `Cache-Control` header. By default, clients revalidate the asset by its `ETag` each time. */
  readonly cacheControl?: string;
  /** Further response headers. */
  readonly header?: Readonly<Record<string, string>>;
}

/** Answers a GET or a HEAD. */
export type Page = (exchange: Exchange) => Answer | Promise<Answer>;

/** The shortest body that is compressed, in bytes. A shorter one fits one packet anyway. */
const minBytes = 1024;

/** A high quality, because each asset is compressed once, but fast enough for the first reader. */
const brotliParams = { [constants.BROTLI_PARAM_QUALITY]: 9 };

const compress: Record<ContentCoding, (body: Uint8Array) => Promise<Uint8Array>> = {
  br: (body) => promisify(brotliCompress)(body, { params: brotliParams }),
  gzip: (body) => promisify(gzip)(body, { level: 9 }),
};

/**
 * Creates a page that never changes while the server runs. It has an `ETag`. It is compressed for the first client that
 * accepts a coding.
 */
export function createAsset(options: AssetOptions): Page {
  const { type, cacheControl = "public, no-cache", header = {} } = options;
  const body = Buffer.from(options.body);
  const etag = `W/"${hash("sha256", body, "base64url").slice(0, 22)}"`;
  const compressed = new Map<ContentCoding, Promise<Uint8Array>>();

  function inCoding(coding: ContentCoding): Promise<Uint8Array> {
    const present = compressed.get(coding);
    if (present !== undefined) {
      return present;
    }
    const made = compress[coding](body);
    compressed.set(coding, made);
    // A failure is not kept, so the next reader tries again.
    made.catch(() => compressed.delete(coding));
    return made;
  }

  return async (exchange) => {
    const answerHeader = new Headers({ ...header, "content-type": type, "cache-control": cacheControl, etag });
    if (body.length < minBytes) {
      return answerConditionally(exchange, { status: 200, header: answerHeader, body });
    }
    answerHeader.append("vary", "Accept-Encoding");
    const coding = chooseCoding(exchange.header("accept-encoding"));
    if (coding !== undefined) {
      answerHeader.set("content-encoding", coding);
    }
    const sent = coding === undefined ? body : await inCoding(coding);
    return answerConditionally(exchange, { status: 200, header: answerHeader, body: sent });
  };
}
