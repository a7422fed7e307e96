import { ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";

/** The answers that are under way, from the request's head on until the last byte has been handed to the system. */
export class InFlight {
  readonly #answers = new Set<ServerResponse | ServerHttp2Stream>();
  #drained: (() => void) | undefined;

  add(answer: ServerResponse | ServerHttp2Stream): void {
    this.#answers.add(answer);
    answer.on("close", () => {
      this.#answers.delete(answer);
      this.#resolveWhenEmpty();
    });
    if (this.#drained !== undefined) {
      endConnection(answer);
    }
  }

  /**
   * Gives up the answers to requests that came over a connection before a CONNECT: Node has let go of it, and tells
   * those that wait for their turn neither that it is there nor that it is closed.
   */
  abandon(socket: Socket): void {
    for (const answer of this.#answers) {
      if (answer instanceof ServerResponse && answer.req.socket === socket) {
        answer.destroy();
        answer.emit("close");
      }
    }
  }

  /** Resolves when there are none. Those over HTTP/1.1 tell their clients from now on to send no further request. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#drained = resolve;
      for (const answer of this.#answers) {
        endConnection(answer);
      }
      this.#resolveWhenEmpty();
    });
  }

  #resolveWhenEmpty(): void {
    if (this.#answers.size === 0) {
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
