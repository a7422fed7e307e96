/** How many times its own memory a piece may keep. Frames of the largest size come four to a read of the socket. */
const maxShare = 4;

/** The room for small pieces, in bytes. */
const roomBytes = 1_024;

/** Copies a piece that is to be kept, where it is much smaller than what it came with: one byte would keep 64 KiB. */
export function withoutRest(piece: Buffer): Buffer {
  if (isMost(piece)) {
    return piece;
  }
  const copy = Buffer.allocUnsafeSlow(piece.length);
  piece.copy(copy);
  return copy;
}

/** Keeps the pieces of one body without what came with them. Small ones stand side by side. */
export class KeptPieces {
  #room: Buffer | undefined;
  #used = 0;

  /** Returns the piece, or a copy of it. */
  keep(piece: Buffer): Buffer {
    if (isMost(piece) || piece.length > roomBytes / 2) {
      return withoutRest(piece);
    }
    if (this.#room === undefined || this.#used + piece.length > roomBytes) {
      this.#room = Buffer.allocUnsafeSlow(roomBytes);
      this.#used = 0;
    }
    const copy = this.#room.subarray(this.#used, this.#used + piece.length);
    copy.set(piece);
    this.#used += piece.length;
    return copy;
  }
}

/** Whether a piece is most of the memory that it keeps. */
function isMost(piece: Buffer): boolean {
  return maxShare * piece.length >= piece.buffer.byteLength;
}
