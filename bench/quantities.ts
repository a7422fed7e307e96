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
  const connection = new Sqlite(db, { readonly: true });
  try {
    const count = "SELECT count(*) FROM pets WHERE quantity >= ?";
    const written = connection.prepare<[number], number>(count).pluck().get(firstQuantity) ?? 0;
    if (written < expected) {
      throw new Error(`${expected} pets or more were updated, but ${written} have been written`);
    }
  } finally {
    connection.close();
  }
}
