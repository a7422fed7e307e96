import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { endWithProcess } from "./end-with-process.ts";
import { amount } from "./long.ts";

/** The root of the project, from which users run the command line. */
export const projectRoot = join(import.meta.dirname, "..", "..");

/** The options of a command. */
export interface Surroundings {
  /** The root of the project by default. */
  readonly cwd?: string;
  /** The checkout that has the command; this one by default. */
  readonly checkout?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The content of stdin; empty by default. */
  readonly input?: string;
  /** A program, with its first arguments, that runs the command. */
  readonly by?: readonly string[];
}

/** The exit code of a process, or the name of the signal that ended it. */
export type Exit = number | NodeJS.Signals;

/** The result of a command. */
export interface CommandResult {
  readonly code: Exit;
  readonly stdout: string;
  readonly stderr: string;
}

/** Less than the time limit of a test, because a command that serves by mistake must not outlive its test. */
export const maxRunMs = amount(25_000, 240_000);

/** Runs `petstore …` to its end, in another process. */
export async function petstore(args: readonly string[], surroundings: Surroundings = {}): Promise<CommandResult> {
  const child = start(args, surroundings);
  const timer = setTimeout(() => child.kill("SIGKILL"), maxRunMs);
  // A command may have ended before it is given its input. Its exit code tells why.
  child.stdin.on("error", () => {}).end(surroundings.input ?? "");
  const [code, stdout, stderr] = await Promise.all([exitOf(child), text(child.stdout), text(child.stderr)]);
  clearTimeout(timer);
  return { code, stdout, stderr };
}

/** The stdout of a command. Throws when it has failed. */
export function outputOf(args: readonly string[], { code, stdout, stderr }: CommandResult): string {
  if (code !== 0) {
    throw new Error(`petstore ${args.join(" ")} exited with ${code}: ${stderr}`);
  }
  return stdout;
}

/** A running command. The test that starts it ends it; at the latest it ends with this process. */
export interface Running {
  readonly pid: number;
  /** The next line of stdout; undefined when there are no more. */
  nextLine(): Promise<string | undefined>;
  /** Writes to stdin, and resolves once all but what a pipe holds is read. */
  write(text: string): Promise<void>;
  /** The stderr so far. */
  log(): string;
  /** Sends signals one after the other, and waits for the end. */
  end(...signals: NodeJS.Signals[]): Promise<Exit>;
}

/** Starts a command. */
export function startPetstore(args: readonly string[], surroundings: Surroundings = {}): Running {
  const child = start(args, surroundings);
  const exit = exitOf(child);
  endWithProcess(child);
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    pid: child.pid ?? -1,
    nextLine: async () => (await lines.next()).value as string | undefined,
    write: (text) => new Promise((resolve) => child.stdin.write(text, () => resolve())),
    log: () => log,
    end: (...signals) => {
      for (const signal of signals) {
        child.kill(signal);
      }
      return exit;
    },
  };
}

/** Where `bin/petstore` has Node keep compiled code. */
const compileCache = join(projectRoot, "node_modules/.cache/petstore");

function start(args: readonly string[], { cwd = projectRoot, checkout = projectRoot, env, by = [] }: Surroundings) {
  const main = join(checkout, "src/main.ts");
  // As `bin/petstore` has it.
  const [program = "", ...rest] = [...by, process.execPath, "--no-maglev", main, ...args];
  const variables = { ...bareEnvironment(), NODE_COMPILE_CACHE: compileCache, ...interceptors(args), ...env };
  return spawn(program, rest, { cwd, env: variables });
}

/** The variables by which servers get the interceptors that `TEST_INTERCEPTORS` names, as `npm run test:cloning` has it. */
function interceptors([command]: readonly string[]): NodeJS.ProcessEnv {
  return command === "serve" && process.env.TEST_INTERCEPTORS !== undefined
    ? interceptedBy(process.env.TEST_INTERCEPTORS)
    : {};
}

/** The variables by which a server gets the interceptors of a module in `test/support/interceptors`. */
export function interceptedBy(name: string): Record<string, string> {
  const preload = pathToFileURL(join(import.meta.dirname, "interceptors", "preload.ts")).href;
  return { TEST_INTERCEPTORS: name, NODE_OPTIONS: `--import=${preload}` };
}

/** The environment, without settings of the service from outside of the test. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PETSTORE_")));
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => child.on("close", (code, signal) => resolve((code ?? signal) as Exit)));
}
