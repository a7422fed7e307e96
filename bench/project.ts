import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

/** The root of the project, from which its commands are run. */
export const projectRoot = join(import.meta.dirname, "..");

/** The environment, without settings that would reach the service from outside the bench. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PETSTORE_")));
}

/** Runs a program of the project to its end. Returns its stdout; throws when it fails. */
export async function runProgram(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: projectRoot, env: bareEnvironment() });
  return stdout;
}
