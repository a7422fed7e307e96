import Sqlite from "better-sqlite3";
import { isPostgresUrl } from "../../../src/domain/store.ts";
import { runSql } from "../../support/postgres/databases.ts";

/** The columns of all tables of a store, by the name of the table. */
export async function columnsOf(location: string): Promise<Record<string, string[]>> {
  return isPostgresUrl(location) ? columnsOfDatabase(location) : columnsOfFile(location);
}

async function columnsOfDatabase(url: string): Promise<Record<string, string[]>> {
  const [result] = await runSql(
    url,
    `SELECT table_name, array_agg(column_name::text ORDER BY ordinal_position) AS columns
     FROM information_schema.columns WHERE table_schema = 'public' GROUP BY table_name ORDER BY table_name`,
  );
  return Object.fromEntries((result?.rows ?? []).map((row) => [row.table_name, row.columns]));
}

function columnsOfFile(file: string): Record<string, string[]> {
  using disposer = new DisposableStack();
  const driver = new Sqlite(file);
  disposer.defer(() => driver.close());
  const names = driver.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck().all();
  const columns = driver.prepare("SELECT name FROM pragma_table_info(?)").pluck();
  return Object.fromEntries((names as string[]).map((name) => [name, columns.all(name) as string[]]));
}

/** The rows of all tables of a store, as its backend has them, by the name of the table. */
export async function rowsOf(location: string, leftOut: readonly string[]): Promise<Record<string, unknown[]>> {
  const tables = Object.entries(await columnsOf(location)).filter(([name]) => !leftOut.includes(name));
  const queries = tables.map(([name]) => `SELECT * FROM ${name} ORDER BY 1, 2`);
  if (isPostgresUrl(location)) {
    const results = await runSql(location, ...queries);
    return Object.fromEntries(tables.map(([name], index) => [name, results[index]?.rows ?? []]));
  }
  using disposer = new DisposableStack();
  const driver = new Sqlite(location);
  disposer.defer(() => driver.close());
  driver.defaultSafeIntegers(true);
  return Object.fromEntries(tables.map(([name], index) => [name, driver.prepare(queries[index] ?? "").all()]));
}
