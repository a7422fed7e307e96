import { ConnectionError, ErrorCode } from "./frames.ts";

/**
 * How many resets of streams a client may cause: a burst of 1,000, then 100 a second. The burst is large, because a
 * connection that many callers share cancels many calls. There is a limit, because a reset costs as much as a call. A
 * frame that makes the server reset a stream counts, too.
 */
const resets = { burst: 1_000, perSecond: 100 };

/**
 * How old a stream without an answer must be that a client may reset it free of charge, in milliseconds. A rapid reset
 * follows its request at once, so that the limit of open streams does not hold it back. A client that waits this long
 * can make no more requests than one that waits for the answers. Honest deadlines are longer.
 */
const freeResetAgeMs = 10;

/**
 * How many frames without an effect a client may send, such as empty DATA, HEADERS of a stream that was reset, or
 * RST_STREAM of one that has closed.
 */
const idleFrames = { burst: 10_000, perSecond: 330 };

/** How many acknowledgements of PING and SETTINGS a client may ask for in one turn of the event loop. */
const maxAcksByTurn = 1_000;

/**
 * Limits what one client may cost. Beyond these limits a client is an attacker: `countReset`, `countResetSoonAfter`,
 * `countIdleFrame` and `countAck` throw a `ConnectionError`.
 */
export class ClientBudget {
  readonly #resets = new TokenBucket(resets.burst, resets.perSecond);
  readonly #idleFrames = new TokenBucket(idleFrames.burst, idleFrames.perSecond);
  #streamsInTurn = 0;
  #acksInTurn = 0;
  #isInTurn = false;
  #turnStartedAtMs = 0;

  /**
   * When the turn of the event loop began in which the last stream was counted, by `performance.now()`. One look at the
   * clock suffices for all streams of a turn.
   */
  get turnStartedAtMs(): number {
    return this.#turnStartedAtMs;
  }

  /** Counts the client's reset of a stream that was opened at this time and has no answer, unless it is free. */
  countResetSoonAfter(openedAtMs: number): void {
    // A turn of the event loop may last longer. What comes in one turn was sent at once.
    const isOfThisTurn = this.#isInTurn && openedAtMs === this.#turnStartedAtMs;
    if (isOfThisTurn || performance.now() - openedAtMs < freeResetAgeMs) {
      this.countReset();
    }
  }

  countReset(): void {
    if (!this.#resets.take()) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, "too many streams are reset");
    }
  }

  countIdleFrame(): void {
    if (!this.#idleFrames.take()) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, "too many frames achieve nothing");
    }
  }

  countAck(): void {
    this.#beginTurn();
    this.#acksInTurn += 1;
    if (this.#acksInTurn > maxAcksByTurn) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, "too many frames ask for an answer");
    }
  }

  /** Counts a stream, and returns how many have been opened in this turn of the event loop. */
  countStream(): number {
    this.#beginTurn();
    this.#streamsInTurn += 1;
    return this.#streamsInTurn;
  }

  #beginTurn(): void {
    if (!this.#isInTurn) {
      this.#isInTurn = true;
      this.#turnStartedAtMs = performance.now();
      setImmediate(this.#endTurn);
    }
  }

  readonly #endTurn = () => {
    this.#isInTurn = false;
    this.#streamsInTurn = 0;
    this.#acksInTurn = 0;
  };
}

/** Admits a burst at most, at any time, and a fixed number a second in the long run. */
class TokenBucket {
  readonly #burst: number;
  readonly #ratePerMs: number;
  #tokens: number;
  #filledAtMs = performance.now();

  constructor(burst: number, perSecond: number) {
    this.#burst = burst;
    this.#ratePerMs = perSecond / 1_000;
    this.#tokens = burst;
  }

  /** Takes a token. Returns false if there is none. */
  take(): boolean {
    // The bucket is filled before each token is taken. If it were filled only when it is empty, the quiet time before a
    // burst would allow a second one at once.
    const nowMs = performance.now();
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#filledAtMs) * this.#ratePerMs);
    this.#filledAtMs = nowMs;
    if (this.#tokens < 1) {
      return false;
    }
    this.#tokens -= 1;
    return true;
  }
}
