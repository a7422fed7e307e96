import { once } from "node:events";
import { until } from "./deadline.ts";

/** The variables with which a process lets itself be inspected, on a port of its choice. */
export const inspectable = { NODE_OPTIONS: "--inspect=127.0.0.1:0" };

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId: string };
}

/**
 * Has code run on the only other thread of an inspectable process, and resolves when it has been sent there. `log` is
 * what stands on the process's stderr.
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

/** Has an inspectable process collect all its garbage, and resolves when it has. */
export async function collectGarbage(log: () => string): Promise<void> {
  const socket = await inspect(log);
  const collected = new Promise<void>((resolve) => {
    socket.addEventListener("message", ({ data }) => {
      if ((JSON.parse(data as string) as Message).id === 1) {
        resolve();
      }
    });
  });
  socket.send(JSON.stringify({ id: 1, method: "HeapProfiler.collectGarbage" }));
  await collected;
  socket.close();
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
