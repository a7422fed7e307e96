import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { destroyIfOverFragmented } from "./body.ts";
import { feedParserInSlices } from "./node-faults/http1-parser-slices.ts";

/** How many requests of one connection are handled at a time, so that those of others get their turn. */
const maxBegun = 8;

/** How many answers may be owed before no more is read from the connection. */
const maxOwed = 32;

/** Who hears of the requests of pipelines. */
export interface PipelineOptions {
  /** Is called with each request when its turn has come. */
  readonly begin: RequestListener;
  /** Counts the requests that are in flight. */
  readonly inFlight: InFlight;
}

/**
 * Holds back clients that pipeline: that send requests over HTTP/1.1 before they have their answers. Without it, all
 * that a client sends would be parsed and kept, at some fifty times its size, and handled before the requests of others.
 */
export class Pipelines {
  readonly #options: PipelineOptions;
  readonly #bySocket = new Map<Socket, Pipeline>();
  #isEnding = false;

  constructor(options: PipelineOptions) {
    this.#options = options;
  }

  /** Takes a request whose head has been read, and the answer that is owed to it. */
  readonly add: RequestListener = (request, answer) => {
    const pipeline = this.#bySocket.get(request.socket) ?? this.#open(request.socket);
    pipeline.add(request, answer);
  };

  /** Tells each client, with the last answer that it is owed, to send no further requests. */
  end(): void {
    this.#isEnding = true;
    for (const pipeline of this.#bySocket.values()) {
      pipeline.end();
    }
  }

  /**
   * Closes a connection that cannot be read any further, once the answers to its complete requests have been sent.
   * Returns false if no answer is owed.
   */
  closeBehindOwed(socket: Socket): boolean {
    return this.#bySocket.get(socket)?.closeBehindOwed() ?? false;
  }

  #open(socket: Socket): Pipeline {
    const pipeline = new Pipeline(socket, this.#options);
    this.#bySocket.set(socket, pipeline);
    socket.once("close", () => {
      this.#bySocket.delete(socket);
      pipeline.abandon();
    });
    if (this.#isEnding) {
      pipeline.end();
    }
    return pipeline;
  }
}

/** The answers that are owed to one connection, in the order of their requests. */
class Pipeline {
  readonly #socket: Socket;
  readonly #begin: RequestListener;
  readonly #inFlight: InFlight;
  readonly #owed: ServerResponse[] = [];
  /** Begin the requests whose turn has not come yet. */
  readonly #held: (() => void)[] = [];
  #isInSlices = false;
  #isPaused = false;
  #isEnding = false;
  #isClosing = false;

  constructor(socket: Socket, { begin, inFlight }: PipelineOptions) {
    this.#socket = socket;
    this.#begin = begin;
    this.#inFlight = inFlight;
  }

  add(request: IncomingMessage, answer: ServerResponse): void {
    if (!this.#isInSlices && request.headers["transfer-encoding"] !== undefined) {
      this.#isInSlices = true;
      feedParserInSlices(this.#socket, () => this.#destroyIfOverFragmented());
    }
    if (this.#isEnding) {
      setKeepAlive(this.#owed.at(-1), true);
      setKeepAlive(answer, false);
    }
    this.#owed.push(answer);
    this.#inFlight.enter();
    // An abandoned answer may emit `close` twice.
    answer.once("close", this.#shift);
    if (this.#owed.length <= maxBegun) {
      this.#begin(request, answer);
      return;
    }
    this.#held.push(() => this.#begin(request, answer));
    if (this.#owed.length >= maxOwed && !this.#isPaused) {
      this.#isPaused = true;
      // Node resumes a connection after each request that it has parsed.
      process.nextTick(() => this.#pause());
    }
  }

  end(): void {
    this.#isEnding = true;
    setKeepAlive(this.#owed.at(-1), false);
  }

  closeBehindOwed(): boolean {
    const last = this.#owed.findLast(({ req }) => isComplete(req));
    if (last !== undefined && !this.#isClosing) {
      this.#isClosing = true;
      setKeepAlive(last, false);
      last.once("close", () => this.#socket.destroySoon());
    }
    return last !== undefined;
  }

  /**
   * Drops what waits for a connection that has closed. Node 24.21 and 26.10 destroy the answers that wait behind others
   * themselves, as of https://github.com/nodejs/node/pull/62534. Older ones never tell them.
   */
  abandon(): void {
    this.#held.length = 0;
    for (const answer of this.#owed.splice(0)) {
      if (!answer.destroyed) {
        answer.destroy();
        answer.emit("close");
      }
    }
  }

  /** Ends the connection if the body that is being received has come in too many pieces. */
  #destroyIfOverFragmented(): void {
    const last = this.#owed.at(-1);
    if (last !== undefined) {
      destroyIfOverFragmented(last.req);
    }
  }

  #pause(): void {
    if (this.#isPaused) {
      this.#socket.pause();
    }
  }

  /** Answers end in order. The first one that a closed connection ends must not begin those that are held. */
  readonly #shift = (): void => {
    this.#owed.shift();
    this.#inFlight.leave();
    if (this.#socket.destroyed) {
      return;
    }
    this.#held.shift()?.();
    if (this.#isPaused && this.#owed.length < maxOwed) {
      this.#isPaused = false;
      this.#socket.resume();
    }
  };
}

/** Counts the requests in flight: from the request's head until the last byte of its answer is with the system. */
export class InFlight {
  #count = 0;
  #drained: (() => void) | undefined;

  enter(): void {
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
    if (this.#count === 0) {
      this.#drained?.();
    }
  }

  /** Resolves when no request is in flight. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#drained = resolve;
      if (this.#count === 0) {
        resolve();
      }
    });
  }
}

/**
 * Whether a request has come to its end. A chunked one of HTTP/1.0 has none, though Node takes it for one without a
 * body. Source: RFC 9112, section 6.1.
 */
function isComplete({ complete, httpVersionMinor, headers }: IncomingMessage): boolean {
  return complete && (httpVersionMinor > 0 || headers["transfer-encoding"] === undefined);
}

/** Has no effect on an answer whose head has been sent. */
function setKeepAlive(answer: ServerResponse | undefined, isKept: boolean): void {
  if (answer !== undefined && !answer.headersSent) {
    answer.shouldKeepAlive = isKept;
  }
}
