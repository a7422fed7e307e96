import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** The CPU time that a process has used, all of its threads together, in seconds; in steps of 10 ms on most systems. */
export function readCpuSeconds(pid: number): number {
  return readStat(`/proc/${pid}/stat`).cpuSeconds;
}

/** As `readCpuSeconds`, of the process's threads of one name. */
export function readThreadCpuSeconds(pid: number, name: string): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((thread) => readStat(`/proc/${pid}/task/${thread}/stat`))
    .filter((stat) => stat.name === name)
    .reduce((seconds, { cpuSeconds }) => seconds + cpuSeconds, 0);
}

/** Source: proc_pid_stat(5), comm, utime and stime */
function readStat(file: string): { name: string; cpuSeconds: number } {
  const stat = readFileSync(file, "utf8");
  // The second field, the name in parentheses, may hold spaces; the third one follows it.
  const [nameStart, nameEnd] = [stat.indexOf("(") + 1, stat.lastIndexOf(")")];
  const fields = stat.slice(nameEnd + 2).split(" ");
  const [utime, stime] = [fields[11], fields[12]];
  return { name: stat.slice(nameStart, nameEnd), cpuSeconds: (Number(utime) + Number(stime)) / ticksPerSecond };
}
