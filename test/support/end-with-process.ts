import type { ChildProcess } from "node:child_process";

/** Those that run. One listener for all of them: Node takes more than ten for a leak, and says so. */
const running = new Set<ChildProcess>();

/** Kills a child at the latest when this process ends. */
export function endWithProcess(child: ChildProcess): void {
  if (running.size === 0) {
    process.on("exit", killAll);
  }
  running.add(child);
  child.once("exit", () => {
    running.delete(child);
    if (running.size === 0) {
      process.off("exit", killAll);
    }
  });
}

function killAll(): void {
  for (const child of running) {
    child.kill("SIGKILL");
  }
}
