import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** The memory of a process, in bytes: the current (`VmRSS`), or the peak (`VmHWM`). */
export function memoryBytes(pid: number, measure: "VmRSS" | "VmHWM" = "VmRSS"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${measure}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
}

/** Begins a new peak of a process's memory, and returns what it holds now, in bytes. Source: proc_pid_clear_refs(5) */
export function beginPeak(pid: number): number {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  return memoryBytes(pid);
}

/** The number of open file descriptors of a process. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The CPU time that a process has used, in milliseconds. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name of the command is in parentheses, and may contain any character.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** Linux counts CPU time in hundredths of a second for all programs. Source: proc_pid_stat(5) */
const tickMs = 10;
