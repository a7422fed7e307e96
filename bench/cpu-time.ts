import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/**
 * The CPU time that a process has used, all of its threads together, in seconds; in steps of 10 ms on most systems.
 *
 * Source: proc_pid_stat(5), utime and stime
 */
export function readCpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field, the program's name in parentheses, may hold spaces; the third one follows it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [utime, stime] = [fields[11], fields[12]];
  return (Number(utime) + Number(stime)) / ticksPerSecond;
}
