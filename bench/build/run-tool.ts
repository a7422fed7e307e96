import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Runs a tool of a build in a folder. Throws with what it has printed when it fails. */
export async function runTool([tool = "", ...args]: readonly string[], cwd: string): Promise<void> {
  try {
    await promisify(execFile)(tool, args, { cwd, maxBuffer: 64 * 1024 * 1024 });
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    throw new Error(`${[tool, ...args].join(" ")} has failed:\n${stderr}`, { cause: error });
  }
}
