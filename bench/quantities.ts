import Sqlite from "better-sqlite3";
import pg from "pg";
import { isDatabase } from "./data-set.ts";

/** More updates than one run makes. */
const updatesPerRun = 100_000_000;
let runs = 0;

/** The first quantity of a run of updates. No run sets what another one has set: such an update would write nothing. */
export function nextQuantity(): number {
  runs += 1;
  return 1_000_000_000 + runs * updatesPerRun;
}

/** Throws unless a run's updates are in the store, except those in flight when it ended. */
export async function assertWritten(db: string, firstQuantity: number, expected: number): Promise<void> {
  // The service's file may have changes that are not in its table `stock` yet.
  const table = isDatabase(db) ? "stock" : "current_stock";
  const written = await readNumber(db, `SELECT count(*) FROM ${table} WHERE quantity >= ${firstQuantity}`);
  if (written < expected) {
    throw new Error(`${expected} pets or more were updated, but ${written} have been written`);
  }
}

/** The revision of the newest change in a store. */
export function readHead(db: string): Promise<number> {
  return readNumber(db, "SELECT max(revision) FROM changes");
}

/** Throws unless a run's changes are in the history behind `head`, except those in flight when it ended. */
export async function assertInHistory(db: string, head: number, expected: number): Promise<void> {
  const written = (await readHead(db)) - head;
  if (written < expected) {
    throw new Error(`${expected} changes or more were made, but the history has ${written} of them`);
  }
}

/** Runs a query for one number, which a file and a database understand alike. */
async function readNumber(db: string, query: string): Promise<number> {
  return isDatabase(db) ? readFromDatabase(db, query) : readFromFile(db, query);
}

function readFromFile(db: string, query: string): number {
  const connection = new Sqlite(db, { readonly: true });
  try {
    return connection.prepare<[], number>(query).pluck().get() ?? 0;
  } finally {
    connection.close();
  }
}

async function readFromDatabase(url: string, query: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<[string]>({ text: query, rowMode: "array" });
    return Number(rows[0]?.[0] ?? 0);
  } finally {
    await client.end();
  }
}
