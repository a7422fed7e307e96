import { closeSync, fdatasyncSync, openSync } from "node:fs";

/**
 * Writes a large file without holding up others that write to the same disk. Each piece is synced by itself: otherwise
 * a server's next sync would wait for the whole file. After each piece the disk is left alone for as long as that took.
 */
export class PacedFsync implements Disposable {
  readonly #descriptor: number;
  readonly #sleeper = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #startedAtMs = performance.now();

  /** Takes the file that is being written. */
  constructor(file: string) {
    this.#descriptor = openSync(file, "r+");
  }

  /** Call it after each piece. It blocks the thread, which is a command's own. */
  pause(): void {
    fdatasyncSync(this.#descriptor);
    const tookMs = performance.now() - this.#startedAtMs;
    Atomics.wait(this.#sleeper, 0, 0, Math.min(tookMs, longestPauseMs));
    this.#startedAtMs = performance.now();
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}

/** A backup comes to its end on a very busy machine, too. */
const longestPauseMs = 100;
