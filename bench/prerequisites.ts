import { spawnSync } from "node:child_process";
import { postgresPrograms } from "../test/support/postgres/programs.ts";

/** Whether there is a PostgreSQL, which need not be in `PATH`. */
export const hasPostgres = postgresPrograms !== undefined;

/** Why the bench cannot run here, and what to do about it. Undefined when it can. */
export function missingPrerequisite(): string | undefined {
  if (process.platform !== "linux") {
    return "the bench runs on Linux only: it reads the servers' CPU time from /proc";
  }
  const program = ["wrk", "openssl"].find((needed) => !isInstalled(needed));
  return program === undefined ? undefined : `${program} is missing: apt-get install ${program}`;
}

/** What the bench skips because a program is missing, one line each, with how to get it. */
export function describeSkipped(): string[] {
  return optional
    .filter(({ program, isThere }) => !(isThere ?? isInstalled(program)))
    .map(({ program, without }) => `No ${program}: ${without}`);
}

interface Optional {
  readonly program: string;
  /** Whether it is installed; by default, whether the shell finds it. */
  readonly isThere?: boolean;
  readonly without: string;
}

const optional: readonly Optional[] = [
  { program: "gcc", without: "the scenario of the slow disk is left out (`apt-get install gcc`)." },
  { program: "strace", without: "system calls are not counted (`apt-get install strace`)." },
  {
    program: "PostgreSQL",
    isThere: hasPostgres,
    without: "stores in it and several servers are left out (`apt-get install postgresql-15`).",
  },
  {
    program: "redis-server",
    without: "limits in Valkey and several servers are left out (`apt-get install redis-server`).",
  },
];

/** Whether a program can be found. */
export function isInstalled(program: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
}
