import Sqlite from "better-sqlite3";

/** More updates than one run makes. */
const updatesPerRun = 100_000_000;
let runs = 0;

/** The first quantity of a run of updates. No run sets what another one has set: such an update would write nothing. */
export function nextQuantity(): number {
  runs += 1;
  return 1_000_000_000 + runs * updatesPerRun;
}

/** Throws unless a run's updates are in the store, except those in flight when it ended. */
export function assertWritten(db: string, firstQuantity: number, expected: number): void {
  const written = readNumber(db, "SELECT count(*) FROM stock WHERE quantity >= ?", firstQuantity);
  if (written < expected) {
    throw new Error(`${expected} pets or more were updated, but ${written} have been written`);
  }
}

/** The revision of the newest change in a store. */
export function readHead(db: string): number {
  return readNumber(db, "SELECT max(revision) FROM changes");
}

/** Throws unless a run's changes are in the history behind `head`, except those in flight when it ended. */
export function assertInHistory(db: string, head: number, expected: number): void {
  const written = readHead(db) - head;
  if (written < expected) {
    throw new Error(`${expected} changes or more were made, but the history has ${written} of them`);
  }
}

function readNumber(db: string, query: string, ...values: readonly number[]): number {
  const connection = new Sqlite(db, { readonly: true });
  try {
    return (
      connection
        .prepare<number[], number>(query)
        .pluck()
        .get(...values) ?? 0
    );
  } finally {
    connection.close();
  }
}
