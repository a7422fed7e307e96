import type { Reporter, TestModule } from "vitest/node";

const fileCount = 10;

/** Prints at the end of a run which files took longest, and how long each. */
export default class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const slowest = modules
      .map((module) => ({ path: module.relativeModuleId, ms: durationMs(module) }))
      .sort((one, other) => other.ms - one.ms)
      .slice(0, fileCount);
    console.log("\n Slowest files");
    for (const { path, ms } of slowest) {
      console.log(`${(ms / 1_000).toFixed(1).padStart(7)} s  ${path}`);
    }
  }
}

/** What its tests and hooks took, in milliseconds, and to load it. */
function durationMs(module: TestModule): number {
  const { duration, collectDuration } = module.diagnostic();
  return duration + collectDuration;
}
