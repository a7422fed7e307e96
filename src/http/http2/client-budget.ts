import { ConnectionError, ErrorCode } from "./frames.ts";

/**
 * Resets allowed: a burst of 1,000, then 100 a second. Shared connections cancel many calls, and each costs as much as
 * a call. A frame that has the server reset a stream counts, too.
 */
const resets = { burst: 1_000, perSecond: 100 };

/** Frames allowed that achieve nothing, such as DATA without bytes, or headers of a stream that was reset. */
const idleFrames = { burst: 10_000, perSecond: 330 };

/** How many answers to PING and SETTINGS a client may ask for in one turn of the event loop. */
const maxAcksByTurn = 1_000;

/**
 * What one client may cost. A client that goes beyond is no client. Each method throws a `ConnectionError` then.
 */
export class ClientBudget {
  readonly #resets = new TokenBucket(resets.burst, resets.perSecond);
  readonly #idleFrames = new TokenBucket(idleFrames.burst, idleFrames.perSecond);
  #streamsInTurn = 0;
  #acksInTurn = 0;
  #isInTurn = false;

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
      setImmediate(this.#endTurn);
    }
  }

  readonly #endTurn = () => {
    this.#isInTurn = false;
    this.#streamsInTurn = 0;
    this.#acksInTurn = 0;
  };
}

/** Admits a burst, and then so many a second. */
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

  /** Takes one, and returns whether there was one. */
  take(): boolean {
    if (this.#tokens < 1) {
      const nowMs = performance.now();
      this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#filledAtMs) * this.#ratePerMs);
      this.#filledAtMs = nowMs;
    }
    if (this.#tokens < 1) {
      return false;
    }
    this.#tokens -= 1;
    return true;
  }
}
