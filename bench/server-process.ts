import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { endWithProcess } from "../test/support/end-with-process.ts";
import { readCpuSeconds, readThreadCpuSeconds } from "./cpu-time.ts";
import type { NodeReading, ProbeQuestion } from "./probe/in-server.ts";
import { bareEnvironment, projectRoot } from "./project.ts";

/** A server that runs in a process of its own. */
export class ServerProcess {
  readonly origin: string;
  readonly #process: ChildProcess;

  constructor(process: ChildProcess, origin: string) {
    this.#process = process;
    this.origin = origin;
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  /** The CPU time used so far, in seconds. */
  get cpuSeconds(): number {
    return readCpuSeconds(this.pid);
  }

  /** As `cpuSeconds`, of the threads of one name. */
  threadCpuSeconds(name: string): number {
    return readThreadCpuSeconds(this.pid, name);
  }

  /** What a server on Node says of itself; undefined for others. */
  async read(question: ProbeQuestion = "read"): Promise<NodeReading | undefined> {
    if (!this.#process.connected) {
      return undefined;
    }
    const answer = once(this.#process, "message");
    this.#process.send(question);
    const [reading] = (await answer) as [NodeReading];
    return reading;
  }

  async stop(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const exited = once(this.#process, "exit");
      this.#process.kill(signal);
      await exited;
    }
  }
}

/** The flags that `bin/petstore` gives to Node. All servers get the same. */
const nodeFlags =
  readFileSync(join(projectRoot, "bin/petstore"), "utf8")
    .match(/^exec .*/m)?.[0]
    .match(/--\S+/g) ?? [];

const probeFlags = ["--import", pathToFileURL(join(import.meta.dirname, "probe/in-server.ts")).href];

/** How a server is started. */
export interface ServerCommand {
  /** Node by default. */
  readonly program?: string | undefined;
  readonly args: readonly string[];
  /** Further variables of its environment. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
}

/** Starts a server. Resolves when it has printed on stdout where it listens, and rejects if it ends before that. */
export async function startServer({ program, args, environment }: ServerCommand): Promise<ServerProcess> {
  const isNode = program === undefined;
  const child = spawn(program ?? process.execPath, isNode ? [...nodeFlags, ...probeFlags, ...args] : args, {
    cwd: projectRoot,
    env: { ...bareEnvironment(), NODE_ENV: "production", ...environment },
    stdio: ["ignore", "pipe", "inherit", ...(isNode ? ["ipc" as const] : [])],
  });
  endWithProcess(child);
  // It is a pipe: see `stdio`.
  const stdout = child.stdout as Readable;
  for await (const line of createInterface({ input: stdout })) {
    const origin = /https?:\/\/\S+:\d+/.exec(line)?.[0];
    if (origin !== undefined) {
      stdout.resume();
      return new ServerProcess(child, origin);
    }
  }
  throw new Error(`${args.join(" ")} ended before it listened`);
}
