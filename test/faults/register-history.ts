/** One operation on a register, and when it began and ended. A write without an answer ends at Infinity. */
export interface RegisterOperation {
  readonly kind: "read" | "write";
  readonly value: bigint;
  readonly startMs: number;
  readonly endMs: number;
}

/** The write of a value, and the reads that have seen it. */
interface Cluster {
  readonly write: RegisterOperation;
  /** By then the value had been there: the first end of any of its operations. */
  readonly firstEndMs: number;
  /** Up to then at least it stayed: the last beginning of any of its operations. */
  readonly lastStartMs: number;
}

/**
 * Tells why the history of a register is not linearisable, that is, why no order in which each operation happens at one
 * moment between its beginning and its end would explain it; undefined where there is such an order. Each value must be
 * written once at most. A write that has no answer may have happened or not.
 *
 * With unique values a register's history is linearisable unless a value is read before it is written, the times that
 * two values certainly stood for overlap, or a value's whole time lies in another's.
 *
 * Source: Gibbons and Korach, Testing Shared Memories, SIAM Journal on Computing 26 (4), 1997, section 4
 */
export function findContradiction(initial: bigint, operations: readonly RegisterOperation[]): string | undefined {
  const first: RegisterOperation = { kind: "write", value: initial, startMs: -Infinity, endMs: -Infinity };
  const byValue = Map.groupBy([first, ...operations], ({ value }) => value);
  const clusters: Cluster[] = [];
  for (const [value, group] of byValue) {
    const write = group.find(({ kind }) => kind === "write");
    if (write === undefined) {
      return `${value} was read, and never written`;
    }
    if (group.some(({ endMs }) => endMs < write.startMs)) {
      return `${value} was read before it was written`;
    }
    clusters.push(clusterOf(write, group));
  }
  return findOverlap(clusters);
}

function clusterOf(write: RegisterOperation, group: readonly RegisterOperation[]): Cluster {
  return {
    write,
    firstEndMs: group.reduce((first, { endMs }) => Math.min(first, endMs), Infinity),
    lastStartMs: group.reduce((last, { startMs }) => Math.max(last, startMs), -Infinity),
  };
}

function findOverlap(clusters: readonly Cluster[]): string | undefined {
  const lasting = clusters.filter(isLasting).toSorted((a, b) => a.firstEndMs - b.firstEndMs);
  for (const [index, { write, lastStartMs }] of lasting.entries()) {
    const next = lasting[index + 1];
    if (next !== undefined && next.firstEndMs < lastStartMs) {
      return `${write.value} was read after ${next.write.value} had come, and that one both before and after`;
    }
  }
  const brief = clusters.filter((cluster) => !isLasting(cluster));
  for (const { write, lastStartMs, firstEndMs } of brief) {
    const around = lasting.findLast((cluster) => cluster.firstEndMs < lastStartMs);
    if (around !== undefined && firstEndMs < around.lastStartMs) {
      return `${write.value} came and went while ${around.write.value} was there`;
    }
  }
  return undefined;
}

/** Whether a value certainly stood for a time, and not perhaps at one moment only. */
function isLasting({ firstEndMs, lastStartMs }: Cluster): boolean {
  return firstEndMs < lastStartMs;
}
