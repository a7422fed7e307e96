import type { ChildProcess } from "node:child_process";

/** The running children. They share one listener, because Node warns about more than ten. */
const running = new Set<ChildProcess>();

/** Kills a child when this process ends, if it still runs. */
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
