import { SingleBar } from "cli-progress";

/** What a progress bar says: a word for what is being done, and how much there is, if that is known. */
export interface Progress {
  readonly label: string;
  readonly totalBytes: number | undefined;
}

/**
 * Passes bytes on, and shows on stderr how many of them have gone by. It shows nothing when stderr is not a terminal,
 * or the total is not known. The bar is gone at the end.
 */
export function showProgress(chunks: AsyncIterable<Uint8Array>, progress: Progress): AsyncIterable<Uint8Array> {
  const { label, totalBytes } = progress;
  return process.stderr.isTTY && totalBytes !== undefined ? drawBar(chunks, label, totalBytes) : chunks;
}

/**
 * Shows on stderr how far work has come that tells it itself: how much is done, of how much. It shows nothing when
 * stderr is not a terminal. The bar is gone at the end, however that comes.
 */
export async function withProgress<R>(
  label: string,
  work: (report: (done: number, total: number) => void) => Promise<R>,
): Promise<R> {
  if (!process.stderr.isTTY) {
    return work(() => {});
  }
  const bar = createBar(label);
  bar.start(1, 0);
  try {
    return await work((done, total) => {
      bar.setTotal(total);
      bar.update(done);
    });
  } finally {
    bar.stop();
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
