import { closeSync, fdatasyncSync, openSync } from "node:fs";

/**
 * Keeps whoever writes a large file from holding up others that write to the same disk. What has been written is synced
 * piece by piece: a server's next sync would otherwise wait for all of it at once. And the disk is left alone for as
 * long as each piece took.
 */
export class PacedFsync implements Disposable {
  readonly #descriptor: number;
  readonly #sleeper = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #startedAtMs = performance.now();

  /** Takes the file that somebody else writes. */
  constructor(file: string) {
    this.#descriptor = openSync(file, "r+");
  }

  /** To be called after each piece. It blocks its thread, a command's own. */
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

/** On a machine that is very busy a backup is to come to its end all the same. */
const longestPauseMs = 100;
