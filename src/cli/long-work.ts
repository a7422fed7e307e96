import { constants } from "node:os";
import { SingleBar } from "cli-progress";
import type { ReportProgress } from "../domain/store.ts";
import { Failure } from "./failure.ts";

/** The label of a progress bar, and the total, if it is known. */
interface Progress {
  readonly label: string;
  readonly totalBytes: number | undefined;
}

/**
 * Passes bytes on, and shows their number in a progress bar on stderr. Shows nothing when stderr is not a terminal, or
 * the total is not known. Removes the bar at the end.
 */
export function showProgress(chunks: AsyncIterable<Uint8Array>, progress: Progress): AsyncIterable<Uint8Array> {
  const { label, totalBytes } = progress;
  return process.stderr.isTTY && totalBytes !== undefined ? drawBar(chunks, label, totalBytes) : chunks;
}

/**
 * Shows the progress that `work` reports in a bar on stderr, from the first report on. Shows nothing when stderr is not a
 * terminal. Removes the bar at the end, even when `work` fails.
 */
export async function withProgress<R>(label: string, work: (report: ReportProgress) => Promise<R>): Promise<R> {
  if (!process.stderr.isTTY) {
    return work(() => {});
  }
  let bar: SingleBar | undefined;
  try {
    return await work((done, total) => {
      if (bar === undefined) {
        bar = createBar(label);
        bar.start(total, done);
      }
      bar.setTotal(total);
      bar.update(done);
    });
  } finally {
    bar?.stop();
  }
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Wraps a progress callback. The wrapped callback throws a `Failure` once a signal has arrived. */
type Guard = (report: ReportProgress) => ReportProgress;

/**
 * Lets a signal end long work without leaving it half-done. The next progress report of the work throws, and the work
 * cleans up as after any other error. Work that waits for input uses `interrupted`, which aborts. The exit code is 128
 * plus the number of the signal, as in a shell. A second signal of the same kind ends the process at once. `leaving` says
 * in the message what the work leaves.
 */
export async function interruptibly<R>(
  work: (guard: Guard, interrupted: AbortSignal) => Promise<R>,
  leaving = "nothing changed",
): Promise<R> {
  let received: NodeJS.Signals | undefined;
  const interruption = new AbortController();
  const listener = (signal: NodeJS.Signals) => {
    received = signal;
    interruption.abort();
  };
  for (const signal of signals) {
    process.once(signal, listener);
  }
  try {
    const guard: Guard = (report) => (done, total) => {
      interruption.signal.throwIfAborted();
      report(done, total);
    };
    return await work(guard, interruption.signal);
  } catch (error) {
    if (received !== undefined && (error as Error).name === "AbortError") {
      throw new Failure(`ended by ${received}, with ${leaving}`, 128 + constants.signals[received]);
    }
    throw error;
  } finally {
    for (const signal of signals) {
      process.off(signal, listener);
    }
  }
}

async function* drawBar(chunks: AsyncIterable<Uint8Array>, label: string, totalBytes: number) {
  const bar = createBar(label);
  bar.start(totalBytes, 0);
  try {
    for await (const chunk of chunks) {
      yield chunk;
      bar.increment(chunk.length);
    }
  } finally {
    bar.stop();
  }
}

function createBar(label: string): SingleBar {
  return new SingleBar({
    stream: process.stderr,
    format: `${label} [{bar}] {percentage} %`,
    barsize: 40,
    barCompleteChar: "#",
    barIncompleteChar: ".",
    clearOnComplete: true,
    // Otherwise the bar turns off the wrapping of lines, and a signal that ends the process leaves it off.
    linewrap: true,
  });
}
