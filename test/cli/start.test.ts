import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import { endWithProcess } from "../support/end-with-process.ts";
import { createFolder } from "../support/folder.ts";
import { amount } from "../support/long.ts";
import { projectRoot } from "../support/petstore.ts";
import { memoryBytes } from "../support/process-usage.ts";

interface Demo {
  readonly pid: number;
  /** From the start of the process to the line that says that it listens. */
  readonly listensAfterMs: number;
  end(): Promise<void>;
}

/** Does what `npm start` does, with a store in this folder. */
async function startDemo(folder: string): Promise<Demo> {
  const args = ["serve", "--demo", "--port", "0", "--ops-port", "0", "--db", join(folder, "demo.db")];
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, "cache") };
  const startedAtMs = performance.now();
  const child = spawn(join(projectRoot, "bin/petstore"), args, { env, stdio: ["ignore", "pipe", "ignore"] });
  endWithProcess(child);
  const ended = once(child, "exit");
  const { value: line } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  const listensAfterMs = performance.now() - startedAtMs;
  expect(line).toMatch(/^petstore listening on /);
  return {
    pid: child.pid ?? -1,
    listensAfterMs,
    async end() {
      child.kill();
      await ended;
    },
  };
}

describe("npm start", () => {
  it.runIf(existsSync("/proc/self/status"))("takes 120 MB at most once it has started", async () => {
    const folder = createFolder();
    // The first start strips the types of all files, and the second has them in the compile cache.
    for (const _start of ["first", "second"]) {
      const demo = await startDemo(folder);
      // It frees what its start has used.
      await until(async () => memoryBytes(demo.pid) < 120_000_000, 10_000);
      await demo.end();
    }
  });

  it("listens within half a second from the second time on", async () => {
    const folder = createFolder();
    const times: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      const demo = await startDemo(folder);
      times.push(demo.listensAfterMs);
      await demo.end();
    }
    // Tests that run beside this one may take the processor. The long run has the machine for itself.
    expect(Math.min(...times.slice(1))).toBeLessThan(amount(1_500, 500));
  });
});
