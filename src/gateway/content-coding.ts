import { pipeline, Readable, type Transform } from "node:stream";
import { constants, createBrotliCompress, createGzip } from "node:zlib";
import type { Answer, Exchange } from "../http/exchange.ts";
import { byteLength, isStream } from "../http/send-body.ts";
import { type ContentCoding, chooseCoding } from "./negotiation.ts";

/** The shortest body that is worth a coding: below it an answer is one packet either way. */
const minBytes = 1024;

/** How much is compressed at a time, in bytes. */
const chunkSize = 64 * 1024;

/** Brotli's middle way: faster than gzip, and smaller. The window of 512 KiB bounds the memory of each answer. */
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
 * Gives an answer the content coding that the request asks for, if its body is long enough to be worth it. It is
 * compressed as it is sent, off the event loop, and no faster than the client reads.
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

/** It begins when it is first pulled: the answer to HEAD costs nothing. */
async function* compress(
  body: string | Uint8Array | AsyncIterable<Uint8Array>,
  coding: ContentCoding,
): AsyncGenerator<Uint8Array> {
  const source = Readable.from(isStream(body) ? body : [body]);
  // What goes wrong on either side ends the other; whoever pulls hears of it by the iteration.
  const compressed = pipeline(source, compressors[coding](), () => {});
  yield* compressed;
}
