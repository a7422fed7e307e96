import { spawnSync } from "node:child_process";

/** Whether a program of the system is installed, for tests that are skipped where it is not. */
export function isInstalled(program: string): boolean {
  return spawnSync("which", [program], { stdio: "ignore" }).status === 0;
}
