import type { Answer } from "./exchange.ts";

/** Whether a body comes in pieces. */
export function isStream(body: Answer["body"]): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && Symbol.asyncIterator in body;
}

/** The length of a body, in bytes; 0 for none. */
export function byteLength(body: string | Uint8Array | undefined): number {
  return body === undefined ? 0 : Buffer.byteLength(body);
}

/** The largest piece of a body, in bytes, that is written at once to a shared connection. */
export const pieceBytes = 256 * 1024;

/**
 * Yields a body in small pieces, so that a large one is written no faster than the client reads. Of the many that share
 * a connection, each then holds one piece at most.
 */
export async function* inPieces(body: Answer["body"]): AsyncGenerator<Uint8Array> {
  for await (const bytes of chunks(body)) {
    for (let start = 0; start < bytes.length; start += pieceBytes) {
      yield bytes.subarray(start, start + pieceBytes);
    }
  }
}

/** Yields a body as it comes. */
async function* chunks(body: Answer["body"]): AsyncGenerator<Uint8Array> {
  if (isStream(body)) {
    yield* body;
  } else if (body !== undefined) {
    yield typeof body === "string" ? Buffer.from(body) : body;
  }
}
