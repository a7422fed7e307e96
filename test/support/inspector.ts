import { once } from "node:events";
import { until } from "./deadline.ts";

/** The variables that open the inspector of a process, on any free port. */
export const inspectable = { NODE_OPTIONS: "--inspect=127.0.0.1:0" };

interface Result {
  readonly result?: { readonly value?: unknown };
}

interface Message {
  readonly id?: number;
  readonly result?: Result;
  readonly method?: string;
  readonly params?: { readonly sessionId: string };
}

/**
 * Runs code on the only other thread of an inspectable process. Resolves when the code was sent there. `log` is the stderr
 * of the process.
 *
 * Source: https://github.com/nodejs/node/blob/main/src/inspector/node_protocol.pdl
 */
export async function evaluateOnThread(log: () => string, expression: string): Promise<void> {
  const socket = await inspect(log);
  const attached = sessionOf(socket);
  socket.send(JSON.stringify({ id: 1, method: "NodeWorker.enable", params: { waitForDebuggerOnStart: false } }));
  const message = JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } });
  const params = { sessionId: await attached, message };
  socket.send(JSON.stringify({ id: 2, method: "NodeWorker.sendMessageToWorker", params }));
  socket.close();
}

/** Runs a full garbage collection in an inspectable process. */
export async function collectGarbage(log: () => string): Promise<void> {
  await ask(log, "HeapProfiler.collectGarbage");
}

/** Runs code in an inspectable process, and resolves to its value. */
export async function evaluate(log: () => string, expression: string): Promise<unknown> {
  const { result } = await ask(log, "Runtime.evaluate", { expression, awaitPromise: true });
  return result?.value;
}

/** Sends a command, and resolves to its result. */
async function ask(log: () => string, method: string, params: object = {}): Promise<Result> {
  const socket = await inspect(log);
  const answered = new Promise<Result>((resolve, reject) => {
    socket.addEventListener("close", () => reject(new Error("the process has ended")));
    socket.addEventListener("message", ({ data }) => {
      const { id, result = {} } = JSON.parse(data as string) as Message;
      if (id === 1) {
        resolve(result);
      }
    });
  });
  socket.send(JSON.stringify({ id: 1, method, params }));
  const result = await answered;
  socket.close();
  return result;
}

async function inspect(log: () => string): Promise<WebSocket> {
  const findUrl = () => /^Debugger listening on (\S+)$/m.exec(log())?.[1];
  await until(async () => findUrl() !== undefined, 10_000);
  const socket = new WebSocket(findUrl() as string);
  await once(socket, "open");
  return socket;
}

function sessionOf(socket: WebSocket): Promise<string> {
  return new Promise((resolve) => {
    socket.addEventListener("message", ({ data }) => {
      const { method, params } = JSON.parse(data as string) as Message;
      if (method === "NodeWorker.attachedToWorker" && params !== undefined) {
        resolve(params.sessionId);
      }
    });
  });
}
