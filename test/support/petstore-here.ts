import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { run } from "../../src/cli/program.ts";
import { ServerSignals } from "../../src/cli/server-signals.ts";
import { bareEnvironment, type CommandResult, outputOf, projectRoot, type Surroundings } from "./petstore.ts";

type Here = Pick<Surroundings, "cwd" | "env">;

/** Settles when the last command has ended. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs `petstore …` to its end as `petstore` does, but in this process: that takes a twentieth of the time. Meanwhile
 * this process has the command's folder, variables and outputs, so commands run one after the other.
 */
export function petstoreHere(args: readonly string[], here: Here = {}): Promise<CommandResult> {
  const result = last.then(() => runHere(args, here));
  last = result.catch(() => {});
  return result;
}

/** As `petstoreHere`, but throws when the command fails. Returns its stdout. */
export async function mustRunHere(...args: readonly string[]): Promise<string> {
  return outputOf(args, await petstoreHere(args));
}

async function runHere(args: readonly string[], { cwd = projectRoot, env = {} }: Here): Promise<CommandResult> {
  const former = { cwd: process.cwd(), env: process.env };
  const [stdout, stderr] = [new Output("stdout"), new Output("stderr")];
  const signals = new ServerSignals();
  try {
    process.chdir(cwd);
    process.env = { ...bareEnvironment(), ...env };
    const code = await run(args, signals);
    return { code, stdout: await stdout.end(), stderr: await stderr.end() };
  } finally {
    signals.release();
    process.chdir(former.cwd);
    process.env = former.env;
    stdout.giveBack();
    stderr.giveBack();
  }
}

/** Takes the place of an output of this process. */
class Output {
  readonly #name: "stdout" | "stderr";
  readonly #former: PropertyDescriptor;
  readonly #stream = new PassThrough();
  readonly #text = text(this.#stream);

  constructor(name: "stdout" | "stderr") {
    this.#name = name;
    this.#former = Object.getOwnPropertyDescriptor(process, name) as PropertyDescriptor;
    Object.defineProperty(process, name, { configurable: true, enumerable: true, value: this.#stream });
  }

  /** All that was written. */
  end(): Promise<string> {
    this.#stream.end();
    return this.#text;
  }

  giveBack(): void {
    Object.defineProperty(process, this.#name, this.#former);
  }
}
