import type { Socket } from "node:net";
import { openSocket } from "./open-socket.ts";

/** A client's end of an HTTP/1.1 connection, with one request at a time. Answers must tell their length. */
export class Http1Connection {
  readonly #socket: Socket;
  #unread = "";
  #onStatus: ((status: number) => void) | undefined;

  /** Resolves when the connection is open. It stays pending when that fails. */
  readonly opened: Promise<void>;

  /** Calls `onBroken` if the connection ends before `close`. */
  constructor(origin: string, onBroken: () => void) {
    this.#socket = openSocket(origin, ["http/1.1"]);
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (chunk: string) => this.#read(chunk));
    this.#socket.on("error", () => undefined);
    this.#socket.on("close", onBroken);
    this.opened = new Promise((resolve) => this.#socket.once("ready", resolve));
  }

  /** Sends a request, and calls back with the status once its answer is read. */
  send(request: string, onStatus: (status: number) => void): void {
    this.#onStatus = onStatus;
    this.#socket.write(request, "latin1");
  }

  close(): void {
    this.#socket.removeAllListeners("close").destroy();
  }

  #read(chunk: string): void {
    this.#unread += chunk;
    const answer = parseAnswer(this.#unread);
    if (answer !== undefined) {
      this.#unread = this.#unread.slice(answer.length);
      this.#onStatus?.(answer.status);
    }
  }
}

/** The first answer in a text, and how long it is. Undefined while it is not whole; throws if it tells no length. */
export function parseAnswer(text: string): { status: number; length: number } | undefined {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) {
    return undefined;
  }
  const bodyLength = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1];
  if (bodyLength === undefined) {
    throw new Error(`an answer without content-length: ${text.slice(0, headEnd)}`);
  }
  const length = headEnd + 4 + Number(bodyLength);
  return text.length < length ? undefined : { status: Number(text.slice(9, 12)), length };
}
