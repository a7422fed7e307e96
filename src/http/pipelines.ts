import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { destroyIfOverFragmented } from "./body.ts";
import type { InFlight } from "./in-flight.ts";
import { feedParserInSlices } from "./node-faults/http1-parser-slices.ts";

/** So many requests of a connection are under way at a time: the others' turn comes after a few of them, not all. */
const maxInFlight = 8;

/** So many may wait for their answers before no more is read from the connection. */
const maxWaiting = 32;

/** The answers that are owed to one connection of HTTP/1.1, in the order of their requests. */
class Pipeline {
  readonly #socket: Socket;
  readonly #begin: RequestListener;
  readonly #inFlight: InFlight;
  readonly #answers: ServerResponse[] = [];
  /** Those of the requests that are not under way yet. */
  readonly #held: (() => void)[] = [];
  #isInSteps = false;
  #isPaused = false;
  #isEnding = false;
  #isClosing = false;

  constructor(socket: Socket, begin: RequestListener, inFlight: InFlight) {
    this.#socket = socket;
    this.#begin = begin;
    this.#inFlight = inFlight;
  }

  add(request: IncomingMessage, answer: ServerResponse): void {
    if (!this.#isInSteps && request.headers["transfer-encoding"] !== undefined) {
      this.#isInSteps = true;
      feedParserInSlices(this.#socket, () => this.#destroyIfOverFragmented());
    }
    if (this.#isEnding) {
      keepAlive(this.#answers.at(-1), true);
      keepAlive(answer, false);
    }
    this.#answers.push(answer);
    this.#inFlight.enter();
    // One that was abandoned may be closed twice.
    answer.once("close", () => this.#shift());
    if (this.#answers.length <= maxInFlight) {
      this.#begin(request, answer);
      return;
    }
    this.#held.push(() => this.#begin(request, answer));
    if (this.#answers.length >= maxWaiting && !this.#isPaused) {
      this.#isPaused = true;
      // Node resumes a connection at the end of each request that it has read with this one.
      process.nextTick(() => this.#pause());
    }
  }

  /** The answer to the last request, whichever that will be, tells the client to send no further one. */
  end(): void {
    this.#isEnding = true;
    keepAlive(this.#answers.at(-1), false);
  }

  /** See `Pipelines.closeBehindOwed`. */
  closeBehindOwed(): boolean {
    const last = this.#answers.findLast(({ req }) => isWhole(req));
    if (last !== undefined && !this.#isClosing) {
      this.#isClosing = true;
      keepAlive(last, false);
      last.once("close", () => this.#socket.destroySoon());
    }
    return last !== undefined;
  }

  /** Node tells the answer whose turn it is that the connection is closed, and none of those that wait behind it. */
  abandon(): void {
    this.#held.length = 0;
    for (const answer of this.#answers.splice(0)) {
      answer.destroy();
      answer.emit("close");
    }
  }

  /** Ends the connection when the body that is being read has come in too many pieces. */
  #destroyIfOverFragmented(): void {
    const last = this.#answers.at(-1);
    if (last !== undefined) {
      destroyIfOverFragmented(last.req);
    }
  }

  #pause(): void {
    if (this.#isPaused) {
      this.#socket.pause();
    }
  }

  /** Answers leave in order. */
  #shift(): void {
    this.#inFlight.leave();
    this.#answers.shift();
    this.#held.shift()?.();
    if (this.#isPaused && this.#answers.length < maxWaiting) {
      this.#isPaused = false;
      this.#socket.resume();
    }
  }
}

/**
 * Whether a request has come to its end. One of HTTP/1.0 that is sent in chunks has none, though Node takes it for one
 * without a body. Source: RFC 9112, section 6.1.
 */
function isWhole({ complete, httpVersionMinor, headers }: IncomingMessage): boolean {
  return complete && (httpVersionMinor > 0 || headers["transfer-encoding"] === undefined);
}

/** It has no effect on an answer whose head has left. */
function keepAlive(answer: ServerResponse | undefined, isKept: boolean): void {
  if (answer !== undefined && !answer.headersSent) {
    answer.shouldKeepAlive = isKept;
  }
}

/**
 * Holds back clients that ask faster than they are answered. Without it all that they send would be taken, be kept at
 * some fifty times its size, and be done before what others ask.
 */
export class Pipelines {
  readonly #begin: RequestListener;
  readonly #inFlight: InFlight;
  readonly #bySocket = new Map<Socket, Pipeline>();
  #isEnding = false;

  /** `begin` is called with each request when its turn has come. */
  constructor(begin: RequestListener, inFlight: InFlight) {
    this.#begin = begin;
    this.#inFlight = inFlight;
  }

  /** Takes a request that has been read, and the answer that is owed to it. */
  add(request: IncomingMessage, answer: ServerResponse): void {
    const { socket } = request;
    const pipeline = this.#bySocket.get(socket) ?? this.#open(socket);
    pipeline.add(request, answer);
  }

  /** Tells all clients, with the last answer that each is owed, to send no further requests. */
  end(): void {
    this.#isEnding = true;
    for (const pipeline of this.#bySocket.values()) {
      pipeline.end();
    }
  }

  /**
   * Closes a connection, of which no more can be read, behind the answers that are owed to whole requests. False when
   * there are none.
   */
  closeBehindOwed(socket: Socket): boolean {
    return this.#bySocket.get(socket)?.closeBehindOwed() ?? false;
  }

  #open(socket: Socket): Pipeline {
    const pipeline = new Pipeline(socket, this.#begin, this.#inFlight);
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
