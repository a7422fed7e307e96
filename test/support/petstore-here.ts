import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { run } from "../../src/cli/program.ts";
import { ServerSignals } from "../../src/cli/server-signals.ts";
import type { RunningServer } from "../../src/server/server.ts";
import {
  bareEnvironment,
  type CommandResult,
  maxRunMs,
  outputOf,
  petstore,
  projectRoot,
  type Surroundings,
} from "./petstore.ts";

type Here = Pick<Surroundings, "cwd" | "env" | "input">;

/** Settles when the last command has ended. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs `petstore …` to its end as `petstore` does, but in this process: that takes a twentieth of the time. Meanwhile
 * this process has the command's folder, variables, input and outputs, so commands run one after the other.
 *
 * A backup runs in another process: it lowers the priority of its own for good, and that of all that is started there.
 */
export function petstoreHere(args: readonly string[], here: Here = {}): Promise<CommandResult> {
  if (args[0] === "backup") {
    return petstore(args, here);
  }
  const result = last.then(() => runHere(args, here));
  last = result.catch(() => {});
  return result;
}

/** As `petstoreHere`, but a server runs in another process: it loads a lot, and ends its process. */
export function petstoreHereOrThere(args: readonly string[], here: Here = {}): Promise<CommandResult> {
  return args[0] === "serve" ? petstore(args, here) : petstoreHere(args, here);
}

/** As `petstoreHere`, but throws when the command fails. Returns its stdout. */
export async function mustRunHere(...args: readonly string[]): Promise<string> {
  return outputOf(args, await petstoreHere(args));
}

async function runHere(args: readonly string[], { cwd = projectRoot, env = {}, input = "" }: Here) {
  const former = { cwd: process.cwd(), env: { ...process.env } };
  const stdin = new Input(input);
  const [stdout, stderr] = [new Output("stdout"), new Output("stderr")];
  const signals = new SignalsOfNoServer();
  const limit = new AbortController();
  try {
    process.chdir(cwd);
    setEnvironment({ ...bareEnvironment(), ...env });
    const overdue = setTimeout(maxRunMs, undefined, { signal: limit.signal });
    const code = await Promise.race([run(args, signals), overdue]);
    if (code === undefined) {
      throw new Error(`petstore ${args.join(" ")} has not ended: ${await stderr.end()}`);
    }
    return { code, stdout: await stdout.end(), stderr: await stderr.end() };
  } finally {
    limit.abort();
    signals.release();
    process.chdir(former.cwd);
    setEnvironment(former.env);
    stdin.giveBack();
    stdout.giveBack();
    stderr.giveBack();
  }
}

/** Stops a server that starts although it is to be refused: it would stay in this process. */
class SignalsOfNoServer extends ServerSignals {
  override handOver(server: RunningServer): never {
    void server.stop();
    throw new Error("a server has started");
  }
}

/** Changes the variables of this process, which its libraries read, too. */
function setEnvironment(variables: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) {
    if (!Object.hasOwn(variables, name)) {
      delete process.env[name];
    }
  }
  Object.assign(process.env, variables);
}

/** Takes the place of a stream of this process until it is given back. */
class StandIn {
  readonly #name: "stdin" | "stdout" | "stderr";
  readonly #former: PropertyDescriptor;
  protected readonly stream = new PassThrough();

  constructor(name: "stdin" | "stdout" | "stderr") {
    this.#name = name;
    this.#former = Object.getOwnPropertyDescriptor(process, name) as PropertyDescriptor;
    Object.defineProperty(process, name, { configurable: true, enumerable: true, value: this.stream });
  }

  giveBack(): void {
    Object.defineProperty(process, this.#name, this.#former);
  }
}

/** A stdin that, as a pipe, is no file and can be read only once. */
class Input extends StandIn {
  readonly #fd = openSync(devNull, "r");

  constructor(input: string) {
    super("stdin");
    Object.assign(this.stream, { fd: this.#fd }).end(input);
  }

  override giveBack(): void {
    super.giveBack();
    closeSync(this.#fd);
  }
}

class Output extends StandIn {
  readonly #text = text(this.stream);

  /** All that was written. */
  end(): Promise<string> {
    this.stream.end();
    return this.#text;
  }
}
