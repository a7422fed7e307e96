import { spawnSync } from "node:child_process";

/** Why the bench cannot run here, and what to do about it. Undefined when it can. */
export function whatIsMissing(): string | undefined {
  if (process.platform !== "linux") {
    return "the bench runs on Linux only: it reads the servers' CPU time from /proc";
  }
  return isInstalled("wrk") ? undefined : "wrk is missing: apt-get install wrk";
}

/** Whether a program can be found. */
export function isInstalled(program: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
}
