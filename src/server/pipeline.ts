import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** So many requests of a connection may wait for their answers before no more is read from it. */
const maxWaiting = 32;

/** The answers that are owed to one connection of HTTP/1.1, in the order of their requests. */
class Pipeline {
  readonly #socket: Socket;
  readonly #answers: ServerResponse[] = [];
  #isPaused = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.once("close", () => this.#abandon());
  }

  add(answer: ServerResponse): void {
    this.#answers.push(answer);
    answer.once("close", () => this.#shift());
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
    if (this.#isPaused && this.#answers.length < maxWaiting) {
      this.#isPaused = false;
      this.#socket.resume();
    }
  }

  /** Node tells the answer whose turn it is that the connection is closed, and none of those that wait behind it. */
  #abandon(): void {
    for (const answer of this.#answers.splice(0)) {
      answer.destroy();
      answer.emit("close");
    }
  }
}

/**
 * Holds back clients that ask faster than they are answered. Without it all that they send would be taken, and be
 * kept, at some fifty times its size.
 */
export class Pipelines {
  readonly #bySocket = new WeakMap<Socket, Pipeline>();

  /** Takes note of an answer that is owed. */
  add(socket: Socket, answer: ServerResponse): void {
    let pipeline = this.#bySocket.get(socket);
    if (pipeline === undefined) {
      pipeline = new Pipeline(socket);
      this.#bySocket.set(socket, pipeline);
    }
    pipeline.add(answer);
  }
}
