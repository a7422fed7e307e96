import { once } from "node:events";

/** The inspector of a Node process. Source: https://chromedevtools.github.io/devtools-protocol/v8/ */
export class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (reply: { result?: unknown; error?: { message: string } }) => void>();
  #lastId = 0;

  static async connect(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    await once(socket, "open");
    return new Inspector(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const reply = JSON.parse(data as string);
      this.#waiting.get(reply.id)?.(reply);
      this.#waiting.delete(reply.id);
    });
  }

  /** Sends a command, and resolves to its result. */
  async send(method: string, params: object = {}): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<{ result?: unknown; error?: { message: string } }>();
    const id = ++this.#lastId;
    this.#waiting.set(id, resolve);
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await promise;
    if (error !== undefined) {
      throw new Error(`${method}: ${error.message}`);
    }
    return result;
  }

  /** Evaluates an expression, and resolves to its value. */
  async evaluate(expression: string): Promise<unknown> {
    const { result } = (await this.send("Runtime.evaluate", { expression })) as { result: { value?: unknown } };
    return result.value;
  }

  close(): void {
    this.#socket.close();
  }
}
