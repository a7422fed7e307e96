import { pipeline, Readable, type Transform } from "node:stream";
import { constants, createBrotliCompress, createGzip } from "node:zlib";
import type { Answer, Exchange } from "../http/exchange.ts";
import { byteLength, isStream } from "../http/send-body.ts";
import { type ContentCoding, chooseCoding } from "./negotiation.ts";

/** The shortest body that is compressed, in bytes. A shorter answer is one packet either way. */
const minBytes = 1024;

/** How much is compressed at a time, in bytes. */
const chunkSize = 64 * 1024;

/** Brotli at a level that is faster than gzip, and smaller. A window of 512 KiB bounds the memory of each answer. */
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
 * Compresses a long body with the content coding that the request asks for: as it is sent, off the event loop, and no
 * faster than the client reads.
 */
export function codeAnswer(exchange: Exchange, answer: Answer): Answer {
  const { body, header } = answer;
  if (body === undefined || (!isStream(body) && byteLength(body) < minBytes)) {
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
