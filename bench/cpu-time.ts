import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/**
 * The CPU time that a process and its children have used, user and system, all threads together, in seconds; in steps of
 * 10 ms on most systems.
 */
export function readCpuSeconds(pid: number): number {
  const stat = readUnlessEnded(`/proc/${pid}/stat`);
  if (stat === "") {
    return 0;
  }
  const { cpuSeconds, endedChildrenSeconds } = parseStat(stat);
  return childrenOf(pid).reduce((seconds, child) => seconds + readCpuSeconds(child), cpuSeconds + endedChildrenSeconds);
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => readUnlessEnded(`/proc/${pid}/task/${thread}/children`).split(" "))
    .filter((child) => child !== "")
    .map(Number);
}

/** Reads what the kernel says of a thread. Empty for one that has ended. */
function readUnlessEnded(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") {
      return "";
    }
    throw error;
  }
}

/** As `readCpuSeconds`, of the process's threads of one name. */
export function readThreadCpuSeconds(pid: number, name: string): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((thread) => readStat(`/proc/${pid}/task/${thread}/stat`))
    .filter((stat) => stat.name === name)
    .reduce((seconds, { cpuSeconds }) => seconds + cpuSeconds, 0);
}

function readStat(file: string): Stat {
  return parseStat(readFileSync(file, "utf8"));
}

/** What `/proc/PID/stat` says of a process or a thread. */
interface Stat {
  readonly name: string;
  readonly cpuSeconds: number;
  /** Of the children that have ended, and that the process has waited for. */
  readonly endedChildrenSeconds: number;
}

/** Source: proc_pid_stat(5), comm, utime, stime, cutime and cstime */
export function parseStat(stat: string): Stat {
  // The second field, the name in parentheses, may hold spaces; the third one follows it.
  const [nameStart, nameEnd] = [stat.indexOf("(") + 1, stat.lastIndexOf(")")];
  const [utime = NaN, stime = NaN, cutime = NaN, cstime = NaN] = stat
    .slice(nameEnd + 2)
    .split(" ")
    .slice(11, 15)
    .map((ticks) => Number(ticks) / ticksPerSecond);
  return { name: stat.slice(nameStart, nameEnd), cpuSeconds: utime + stime, endedChildrenSeconds: cutime + cstime };
}
