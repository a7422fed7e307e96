import type { Readable } from "node:stream";

/**
 * How much of a body is drained, in bytes: twice the largest that any call takes, so that a client that has sent a
 * little too much can go on using the connection.
 */
const drainMaxBytes = 8 * 1024 * 1024;

/** How long a body is drained, in milliseconds. */
const drainMs = 1_000;

/**
 * Reads the rest of a body that nobody needs, so that the client can finish and read its answer. Calls `giveUp` when
 * there is too much of it, when it takes too long, or when it is over-fragmented.
 */
export function drainBody(body: Readable, giveUp: () => void): void {
  let size = 0;
  let pieces = 0;
  const timer = setTimeout(giveUp, drainMs);
  const take = (chunk: Buffer) => {
    size += chunk.length;
    pieces += 1;
    if (size > drainMaxBytes || isOverFragmented(pieces, size)) {
      body.off("data", take).pause();
      giveUp();
    }
  };
  body.once("end", () => clearTimeout(timer)).once("close", () => clearTimeout(timer));
  body.on("data", take).resume();
}

/** How many pieces any body may have. */
const freePieces = 1024;

/** How many bytes earn a body one piece more: fewer than the smallest packets of the Internet hold. */
const bytesPerPiece = 512;

/**
 * Whether a body comes in so many small pieces that it must be an attack. A piece of one byte takes some 400 bytes of
 * memory, and as much time as a packet.
 */
export function isOverFragmented(pieces: number, bytes: number): boolean {
  return pieces > freePieces + bytes / bytesPerPiece;
}

/**
 * Destroys a body that has come in too many small pieces, and with it the connection, or over HTTP/2 the stream. By the
 * time an answer could be written, several times as much would have come. Returns whether it was one.
 */
export function destroyIfOverFragmented(body: Readable): boolean {
  // Node's types lack the property.
  const pieces = (body as { readonly readableBuffer?: ArrayLike<unknown> }).readableBuffer?.length ?? 0;
  const isOne = isOverFragmented(pieces, body.readableLength);
  if (isOne) {
    body.destroy();
  }
  return isOne;
}
