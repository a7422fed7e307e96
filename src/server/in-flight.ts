import { ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";

/** The answers that are under way, from the request's head on until the last byte has been handed to the system. */
export class InFlight {
  /**
   * Each in a place of its own, taken again once it is free. A `Set` would be made anew every few hundred answers, and the
   * garbage collector takes what the old ones hold, long answered, for alive.
   */
  readonly #answers: (ServerResponse | ServerHttp2Stream | undefined)[] = [];
  readonly #freePlaces: number[] = [];
  #drained: (() => void) | undefined;

  add(answer: ServerResponse | ServerHttp2Stream): void {
    const place = this.#freePlaces.pop() ?? this.#answers.length;
    this.#answers[place] = answer;
    answer.on("close", () => {
      // One that was abandoned may be closed once more.
      if (this.#answers[place] === answer) {
        this.#answers[place] = undefined;
        this.#freePlaces.push(place);
        this.#resolveWhenEmpty();
      }
    });
    if (this.#drained !== undefined) {
      endConnection(answer);
    }
  }

  /** Resolves when there are none. Those over HTTP/1.1 tell their clients from now on to send no further request. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#drained = resolve;
      for (const answer of this.#answers) {
        if (answer !== undefined) {
          endConnection(answer);
        }
      }
      this.#resolveWhenEmpty();
    });
  }

  #resolveWhenEmpty(): void {
    if (this.#freePlaces.length === this.#answers.length) {
      this.#drained?.();
    }
  }
}

/** HTTP/2 says it once for the whole connection. */
function endConnection(answer: ServerResponse | ServerHttp2Stream): void {
  if (answer instanceof ServerResponse && !answer.headersSent) {
    answer.shouldKeepAlive = false;
  }
}
