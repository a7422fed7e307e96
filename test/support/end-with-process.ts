import type { ChildProcess } from "node:child_process";

/** The running children. They share one listener, because Node warns about more than ten. */
const running = new Set<ChildProcess>();

/** Kills a child when this process ends, if it still runs. */
export function endWithProcess(child: ChildProcess): void {
  if (running.size === 0) {
    process.on("exit", killAll);
    process.on("SIGTERM", exit);
  }
  running.add(child);
  child.once("exit", () => {
    running.delete(child);
    if (running.size === 0) {
      process.off("exit", killAll);
      process.off("SIGTERM", exit);
    }
  });
}

/** The test runner ends its workers by SIGTERM, which alone would leave the children running. */
function exit(): void {
  process.exit();
}

function killAll(): void {
  for (const child of running) {
    child.kill("SIGKILL");
  }
}
