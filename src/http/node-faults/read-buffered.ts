import type { Readable } from "node:stream";

/**
 * Trap: `readable.read()` without a size returns only the first of the buffered chunks.
 *
 * Seen with: Node 26.10. Node 24.21 returns all that is buffered.
 * Upstream: no issue is known.
 * When mended: delete this file. `readBuffered(body)` is `body.read() ?? Buffer.alloc(0)`.
 */

/** Reads all that is buffered, as one piece. */
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
