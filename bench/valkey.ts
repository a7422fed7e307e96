import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { endWithProcess } from "../test/support/end-with-process.ts";
import { isInstalled } from "./prerequisites.ts";

/** Whether there is a server that can count limits. */
export const hasValkey = isInstalled("redis-server");

/** Starts a Redis that stores nothing on disk. It ends when `held` is disposed, or with this process. */
export async function startValkey(held: AsyncDisposableStack): Promise<{ readonly url: string; readonly pid: number }> {
  const port = await freePort();
  const flags = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  const child = spawn("redis-server", flags, { stdio: ["ignore", "pipe", "inherit"] });
  endWithProcess(child);
  held.defer(() => void child.kill("SIGKILL"));
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes("Ready to accept connections")) {
      break;
    }
  }
  child.stdout.resume();
  child.unref();
  return { url: `redis://127.0.0.1:${port}`, pid: child.pid as number };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
