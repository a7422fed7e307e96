import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { readCpuSeconds, readThreadCpuSeconds } from "./cpu-time.ts";
import { bareEnvironment, projectRoot } from "./project.ts";

/** A server that runs in a process of its own. */
export class ServerProcess {
  readonly origin: string;
  readonly #process: ChildProcess;

  constructor(process: ChildProcess, origin: string) {
    this.#process = process;
    this.origin = origin;
  }

  /** The CPU time used so far, in seconds. */
  get cpuSeconds(): number {
    return readCpuSeconds(this.#process.pid ?? -1);
  }

  /** As `cpuSeconds`, of the threads of one name. */
  threadCpuSeconds(name: string): number {
    return readThreadCpuSeconds(this.#process.pid ?? -1, name);
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

/** Starts a server. Resolves when it has printed on stdout where it listens, and rejects if it ends before that. */
export async function startServer(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [...nodeFlags, ...args], {
    cwd: projectRoot,
    env: { ...bareEnvironment(), NODE_ENV: "production", ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  for await (const line of createInterface({ input: child.stdout })) {
    const origin = /http:\/\/\S+:\d+/.exec(line)?.[0];
    if (origin !== undefined) {
      child.stdout.resume();
      return new ServerProcess(child, origin);
    }
  }
  throw new Error(`${args.join(" ")} ended before it listened`);
}
