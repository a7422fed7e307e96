import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { ImageConfig } from "./buildah.ts";

/** The files of an image and of its volume, and how to run it. */
export interface ContainerOptions {
  readonly root: string;
  readonly data: string;
  readonly config: ImageConfig;
  /** Beside what the image sets. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs an image as compose.yaml does: as the image's user, without capabilities, with only the volume writable, and the
 * program as process 1. Unlike compose.yaml, it makes `/tmp` read-only, too, and uses this machine's network.
 */
export class Container {
  readonly #options: ContainerOptions;

  constructor(options: ContainerOptions) {
    this.#options = options;
  }

  /** Runs a program to its end. */
  run(...command: readonly string[]) {
    const [program, ...args] = this.#confine(command);
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", timeout: 60_000 });
    return { status, stdout, stderr };
  }

  /** Starts the image's own program, and resolves when it has written a line on stdout. */
  async start(): Promise<{ line: string; process: ChildProcess; pid: number }> {
    const { Entrypoint, Cmd } = this.#options.config;
    const [program, ...args] = this.#confine([...Entrypoint, ...Cmd]);
    const process = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await once(createInterface({ input: process.stdout }), "line");
    return { line, process, pid: innermost(process.pid ?? 0) };
  }

  /** A command that runs a command in the image. */
  #confine(command: readonly string[]): [string, ...string[]] {
    const { root, data, config, env } = this.#options;
    const [user = "", group = ""] = config.User.split(":");
    const variables = [...config.Env.map(nameAndValue), ...Object.entries(env)];
    const identity = ["--reuid", user, "--regid", group, "--clear-groups"];
    const files = ["--ro-bind", root, "/", "--bind", data, "/data", "--proc", "/proc", "--dev", "/dev"];
    const isolation = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--as-pid-1", "--die-with-parent"];
    const place = ["--chdir", config.WorkingDir, "--clearenv"];
    const settings = variables.flatMap(([name, value]) => ["--setenv", name, value]);
    return ["setpriv", ...identity, "bwrap", ...files, ...isolation, ...place, ...settings, ...command];
  }
}

/** A value may hold `=`, too. */
function nameAndValue(entry: string): [string, string] {
  const end = entry.indexOf("=");
  return [entry.slice(0, end), entry.slice(end + 1)];
}

/** The last process in a chain in which each process is the only child of the one before. */
function innermost(pid: number): number {
  const child = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return child === "" ? pid : innermost(Number(child));
}
