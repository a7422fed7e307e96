import { execFile } from "node:child_process";
import { join } from "node:path";

/** The root of the project, from which users run the command line. */
export const projectRoot = join(import.meta.dirname, "..", "..");

/** What a command left behind. */
export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `petstore …` to its end, in a process of its own. */
export function petstore(...args: readonly string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    const options = { cwd: projectRoot, env: bareEnvironment(), timeout: 30_000, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, ["src/main.ts", ...args], options, (error, stdout, stderr) => {
      resolve({ exitCode: typeof error?.code === "number" ? error.code : error === null ? 0 : -1, stdout, stderr });
    });
  });
}

/** As `petstore`, but throws when the command fails. Returns what stood on stdout. */
export async function mustRun(...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await petstore(...args);
  if (exitCode !== 0) {
    throw new Error(`petstore ${args.join(" ")} exited with ${exitCode}: ${stderr}`);
  }
  return stdout;
}

/** The environment, without the settings that would reach the service from outside of the test. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PETSTORE_")));
}
