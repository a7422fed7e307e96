import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** So many requests of a connection are under way at a time: the others' turn comes after a few of them, not all. */
const maxUnderWay = 8;

/** So many may wait for their answers before no more is read from the connection. */
const maxWaiting = 32;

/** The answers that are owed to one connection of HTTP/1.1, in the order of their requests. */
class Pipeline {
  readonly #socket: Socket;
  readonly #begin: RequestListener;
  readonly #answers: ServerResponse[] = [];
  /** Those of the requests that are not under way yet. */
  readonly #held: (() => void)[] = [];
  #isPaused = false;

  constructor(socket: Socket, begin: RequestListener) {
    this.#socket = socket;
    this.#begin = begin;
    socket.once("close", () => this.#abandon());
  }

  add(request: IncomingMessage, answer: ServerResponse): void {
    this.#answers.push(answer);
    answer.once("close", () => this.#shift());
    if (this.#answers.length <= maxUnderWay) {
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

  #pause(): void {
    if (this.#isPaused) {
      this.#socket.pause();
    }
  }

  /** Answers leave in order. */
  #shift(): void {
    this.#answers.shift();
    this.#held.shift()?.();
    if (this.#isPaused && this.#answers.length < maxWaiting) {
      this.#isPaused = false;
      this.#socket.resume();
    }
  }

  /** Node tells the answer whose turn it is that the connection is closed, and none of those that wait behind it. */
  #abandon(): void {
    this.#held.length = 0;
    for (const answer of this.#answers.splice(0)) {
      answer.destroy();
      answer.emit("close");
    }
  }
}

/**
 * Holds back clients that ask faster than they are answered. Without it all that they send would be taken, be kept at
 * some fifty times its size, and be done before what others ask.
 */
export class Pipelines {
  readonly #begin: RequestListener;
  readonly #bySocket = new WeakMap<Socket, Pipeline>();

  /** `begin` is called with each request when its turn has come. */
  constructor(begin: RequestListener) {
    this.#begin = begin;
  }

  /** Takes a request that has been read, and the answer that is owed to it. */
  add(request: IncomingMessage, answer: ServerResponse): void {
    const { socket } = request;
    let pipeline = this.#bySocket.get(socket);
    if (pipeline === undefined) {
      pipeline = new Pipeline(socket, this.#begin);
      this.#bySocket.set(socket, pipeline);
    }
    pipeline.add(request, answer);
  }
}
