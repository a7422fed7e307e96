/**
 * The database's clock, as a server knows it from the answers to its questions. All servers go by it, so that each
 * judges alike whether a hold or a key is over, whatever its own machine's clock shows.
 *
 * An answer tells the time no better than its round trip was short. So it moves the clock only as far as it proves it
 * wrong, and a late one proves little.
 */
export class DatabaseClock {
  /** How far it is ahead of `performance.now()`, in milliseconds. */
  #aheadMs: number | undefined;

  /** The time in milliseconds of the Unix epoch. */
  readonly now = (): number => Math.round(performance.now() + (this.#aheadMs ?? performance.timeOrigin));

  /** Is told what the database's clock has shown between a question and its answer, by `performance.now()`. */
  learn(shownMs: number, askedAtMs: number, answeredAtMs: number): void {
    const [least, most] = [shownMs - answeredAtMs, shownMs - askedAtMs];
    this.#aheadMs = Math.min(Math.max(this.#aheadMs ?? (least + most) / 2, least), most);
  }
}
