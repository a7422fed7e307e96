import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

const main = join(import.meta.dirname, "../../src/main.ts");

/** A folder of the test's own, which goes when the test does. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "petstore-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Surroundings {
  readonly cwd: string;
  readonly env?: Record<string, string>;
  readonly input?: string;
}

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Less than a test may take: a command that should have refused to serve must not outlive its test. */
const maxRunMs = 25_000;

/** Runs the command as users do, to its end. */
export async function petstore(args: readonly string[], surroundings: Surroundings): Promise<Outcome> {
  const child = start(args, surroundings);
  const timer = setTimeout(() => child.kill("SIGKILL"), maxRunMs);
  child.stdin?.end(surroundings.input ?? "");
  const outputs = Promise.all([text(child.stdout), text(child.stderr)]);
  const code = await exitOf(child);
  clearTimeout(timer);
  const [stdout, stderr] = await outputs;
  return { code, stdout, stderr };
}

/** A command that goes on running. */
export interface Running {
  readonly pid: number;
  /** The next line of stdout; undefined when there are no more. */
  nextLine(): Promise<string | undefined>;
  /** Sends signals one right after the other, and gives the exit code. */
  end(...signals: NodeJS.Signals[]): Promise<number | null>;
}

/** Starts a command that goes on running, and ends it with the test. */
export function startPetstore(args: readonly string[], surroundings: Surroundings): Running {
  const child = start(args, surroundings);
  const exit = exitOf(child);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exit;
  });
  child.stderr?.resume();
  const lines = createInterface({ input: child.stdout ?? process.stdin })[Symbol.asyncIterator]();
  return {
    pid: child.pid ?? 0,
    nextLine: async () => (await lines.next()).value as string | undefined,
    end: (...signals) => {
      for (const signal of signals) {
        child.kill(signal);
      }
      return exit;
    },
  };
}

function start(args: readonly string[], { cwd, env }: Surroundings): ChildProcess {
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith("PETSTORE_"));
  return spawn(process.execPath, [main, ...args], { cwd, env: { ...Object.fromEntries(clean), ...env } });
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.on("close", resolve));
}

async function text(stream: NodeJS.ReadableStream | null): Promise<string> {
  let all = "";
  for await (const chunk of stream ?? []) {
    all += String(chunk);
  }
  return all;
}
