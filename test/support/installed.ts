import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "./petstore.ts";

/** The commands that `npm run tools` installs. */
export const toolCommands = join(projectRoot, "tools/node_modules/.bin");

/** Whether they are installed. Otherwise the tests of generated code are skipped. */
export const hasTools = existsSync(toolCommands);

/** Whether a program is installed. Otherwise its tests are skipped. */
export function isInstalled(program: string): boolean {
  return spawnSync("which", [program], { stdio: "ignore" }).status === 0;
}
