import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import { endWithProcess } from "./end-with-process.ts";

export { hasRedis } from "./left-out.ts";

/** How a server is started, beside its port and folder. */
interface RedisOptions {
  /** Another port than any that is free. */
  readonly port?: number;
  readonly args?: readonly string[];
}

/** A throwaway Redis on a free port of the loopback address, in a folder of its own. It keeps nothing on disk. */
export class RedisServer {
  readonly port: number;
  readonly #folder: string;
  readonly #process: ChildProcess;
  #client: Redis | undefined;

  private constructor(port: number, folder: string, process: ChildProcess) {
    this.port = port;
    this.#folder = folder;
    this.#process = process;
  }

  static async start({ port, args = [] }: RedisOptions = {}): Promise<RedisServer> {
    const folder = mkdtempSync(join(tmpdir(), "petstore-redis-"));
    const used = port ?? (await freePort());
    const own = ["--port", String(used), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"];
    const child = spawn("redis-server", [...own, ...args], { stdio: ["ignore", "pipe", "ignore"] });
    endWithProcess(child);
    const removeFolder = () => rmSync(folder, { recursive: true, force: true });
    process.once("exit", removeFolder);
    child.once("exit", () => process.off("exit", removeFolder));
    let output = "";
    for await (const line of createInterface({ input: child.stdout })) {
      output += `${line}\n`;
      if (line.includes("Ready to accept connections")) {
        child.stdout.resume();
        // The tests' process may end before it.
        child.unref();
        (child.stdout as Socket).unref();
        return new RedisServer(used, folder, child);
      }
    }
    removeFolder();
    throw new Error(`redis-server did not start: ${output}`);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** A client of the test's own, which ends with the server. */
  get client(): Redis {
    this.#client ??= new Redis(this.port, { maxRetriesPerRequest: 0 }).on("error", () => {});
    return this.#client;
  }

  /** Has it answer nothing, and accept connections. */
  hang(): void {
    this.#process.kill("SIGSTOP");
  }

  /** Ends the hanging. */
  resume(): void {
    this.#process.kill("SIGCONT");
  }

  /** Kills it, and removes its folder. */
  async stop(): Promise<void> {
    this.#client?.disconnect();
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      this.#process.kill("SIGKILL");
      await once(this.#process, "exit");
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A port of the loopback address that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
