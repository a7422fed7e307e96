import { setImmediate } from "node:timers/promises";
import type { ReportProgress } from "../../domain/store/store-maintenance.ts";
import { CopyError } from "./copy-error.ts";
import type { CopySide, CopySource, CopyTarget } from "./sides.ts";
import { TableDigest } from "./table-digest.ts";
import { type CopiedRow, type CopiedTable, copiedTables, type StoreHead } from "./tables.ts";

/** How many rows of each table were copied. */
export type CopiedCounts = Readonly<Record<string, number>>;

/**
 * Copies a whole store to an empty one, compares both sides, and commits: so whatever ends it before leaves the target
 * as it was. Throws `CopyError`, and the errors of both sides.
 */
export async function copyStore(
  source: CopySource,
  target: CopyTarget,
  report: ReportProgress = () => {},
): Promise<CopiedCounts> {
  if (source.identity === target.identity) {
    throw new CopyError(`${source.shown} and ${target.shown} are the same store; name another one to copy it to`);
  }
  await target.begin();
  // Each row is copied, and then compared.
  const progress = new Progress(2 * (await source.countRows()), report);
  const copied = new Map<CopiedTable, TableDigest>();
  for (const table of copiedTables) {
    const digest = new TableDigest();
    await target.write(table, watch(source.read(table), digest, progress));
    copied.set(table, digest);
  }
  const head = await source.readHead();
  await target.finish(head);
  await compare(target, head, copied, progress);
  await target.commit();
  return Object.fromEntries([...copied].map(([{ name }, { count }]) => [name, count]));
}

/** Throws `CopyError` where the target has anything but what was read from the source. */
async function compare(
  target: CopySide,
  head: StoreHead,
  copied: ReadonlyMap<CopiedTable, TableDigest>,
  progress: Progress,
): Promise<void> {
  for (const [table, expected] of copied) {
    const present = new TableDigest();
    for await (const _ of watch(target.read(table), present, progress)) {
      // Only the digest is wanted.
    }
    if (present.count !== expected.count || present.finish() !== expected.finish()) {
      const counts = present.count === expected.count ? "" : ` (${expected.count} rows and ${present.count})`;
      throw different(target, `the rows of ${table.name}${counts}`);
    }
  }
  const { lineage, holdPosition } = await target.readHead();
  if (lineage !== head.lineage || holdPosition !== head.holdPosition) {
    throw different(target, "the heads of the history");
  }
}

function different({ shown }: CopySide, what: string): CopyError {
  return new CopyError(`${shown}: ${what} differ from those that were copied; nothing has been changed`);
}

/** Hands on rows, adds them to a digest, and reports them. */
async function* watch(
  pieces: AsyncIterable<readonly CopiedRow[]>,
  digest: TableDigest,
  progress: Progress,
): AsyncGenerator<readonly CopiedRow[]> {
  for await (const rows of pieces) {
    digest.add(rows);
    yield rows;
    await progress.advance(rows.length);
  }
}

/** How many rows are done. */
class Progress {
  readonly #total: number;
  readonly #report: ReportProgress;
  #done = 0;

  constructor(total: number, report: ReportProgress) {
    this.#total = total;
    this.#report = report;
    report(0, total);
  }

  async advance(rows: number): Promise<void> {
    // SQLite keeps the thread to itself: signals arrive in between.
    await setImmediate();
    this.#done += rows;
    this.#report(this.#done, this.#total);
  }
}
