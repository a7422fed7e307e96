import type { Readable } from "node:stream";

/** Reads all that has come and has not been read, as one piece; `read` itself gives the first of them. */
export function readBuffered(source: Readable): Buffer {
  const first: Buffer = source.read() ?? Buffer.alloc(0);
  if (source.readableLength === 0) {
    return first;
  }
  const pieces = [first];
  for (let piece: Buffer | null = source.read(); piece !== null; piece = source.read()) {
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
