import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { isInstalled } from "../prerequisites.ts";

/**
 * How many system calls a process makes while something runs, all threads together, by `strace`, which slows it down.
 * NaN without `strace`, and then it runs nothing.
 */
export async function countSystemCalls(pid: number, run: () => Promise<unknown>): Promise<number> {
  if (!isInstalled("strace")) {
    return NaN;
  }
  const folder = mkdtempSync(join(tmpdir(), "petstore-bench-strace-"));
  const summary = join(folder, "summary");
  try {
    await trace(pid, summary, run);
    return parseCalls(readFileSync(summary, "utf8"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function trace(pid: number, summary: string, run: () => Promise<unknown>): Promise<void> {
  const flags = ["--summary-only", "--summary-columns=calls,name", "--output", summary];
  const strace = spawn("strace", [...flags, "--follow-forks", "--attach", String(pid)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(strace, "exit");
  try {
    await attached(strace.stderr);
    await run();
  } finally {
    strace.kill("SIGINT");
    await exited;
  }
}

/**
 * The number of calls in a summary of `strace`, which has the columns `calls` and `name`.
 *
 * Source: strace(1), --summary-columns
 */
export function parseCalls(summary: string): number {
  const calls = /^ *(\d+) total$/m.exec(summary)?.[1];
  if (calls === undefined) {
    throw new Error(`strace has printed no number of calls: ${summary}`);
  }
  return Number(calls);
}

/** Resolves when `strace` says that it has attached, and rejects when it cannot. */
async function attached(stderr: Readable): Promise<void> {
  const said: string[] = [];
  for await (const line of createInterface({ input: stderr })) {
    said.push(line);
    if (/attached/.test(line)) {
      stderr.resume();
      return;
    }
  }
  throw new Error(`strace did not attach: ${said.join("; ")}`);
}
