import { SingleBar } from "cli-progress";
import type { ReportProgress } from "../../domain/store/store-maintenance.ts";

/** The label of a progress bar, and the total, if it is known. */
export interface Progress {
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
  });
}
