import { constants } from "node:os";
import type { ReportProgress } from "../domain/store/store-maintenance.ts";
import { Failure } from "./failure.ts";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Wraps a progress callback. It throws a `Failure` once a signal has arrived. */
type Guard = (report: ReportProgress) => ReportProgress;

/**
 * Lets a signal end long work without leaving it half-done. The next progress report of the work throws, and the work
 * cleans up as after any other error. The exit code is 128 plus the number of the signal, as in a shell. A second signal
 * of the same kind ends the process at once.
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
