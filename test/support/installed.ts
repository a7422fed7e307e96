import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "./petstore.ts";

/** The commands that `npm run tools` installs. */
export const toolCommands = join(projectRoot, "tools/node_modules/.bin");

/** Whether they are there. The tests of generated code say so where they are not, and are skipped. */
export const hasTools = existsSync(toolCommands);

/** Whether a program of the system is installed, for tests that are skipped where it is not. */
export function isInstalled(program: string): boolean {
  return spawnSync("which", [program], { stdio: "ignore" }).status === 0;
}
