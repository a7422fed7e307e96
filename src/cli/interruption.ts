import { constants } from "node:os";
import type { ReportProgress } from "../domain/store-maintenance.ts";
import { Failure } from "./failure.ts";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Makes of what hears of progress one that throws a `Failure` once a signal has asked for the end. */
export type Guard = (report: ReportProgress) => ReportProgress;

/**
 * Has long work leave nothing half-done behind when a signal ends it: the work's next report throws, and it cleans up
 * as after any other error. The exit code is then 128 and the signal's number, as a shell has it. A second signal of
 * the same kind ends the process at once.
 */
export async function interruptibly<R>(work: (guard: Guard) => Promise<R>): Promise<R> {
  let received: NodeJS.Signals | undefined;
  const listener = (signal: NodeJS.Signals) => {
    received = signal;
  };
  for (const signal of signals) {
    process.once(signal, listener);
  }
  try {
    return await work((report) => (done, total) => {
      if (received !== undefined) {
        throw new Failure(`ended by ${received}, with nothing changed`, 128 + constants.signals[received]);
      }
      report(done, total);
    });
  } finally {
    for (const signal of signals) {
      process.off(signal, listener);
    }
  }
}
