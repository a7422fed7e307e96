import { Connection } from "./connection.ts";
import { stepsTo } from "./migrations.ts";

interface SchemaRow {
  readonly type: string;
  readonly name: string;
  readonly sql: string;
}

/**
 * The tables and indexes that a store of its version should have, and has not, or has in another shape. What others have
 * added, as Litestream adds tables, is left alone.
 */
export function missingFrom(connection: Connection): string[] {
  const present = new Map(schemaOf(connection).map((row) => [row.name, row.sql]));
  return expectedSchema(Number(connection.pragma("user_version")))
    .filter(({ name, sql }) => present.get(name) !== sql)
    .map(({ type, name }) => `the ${type} ${name}`);
}

/** The schema as the migrations make it. */
function expectedSchema(version: number): SchemaRow[] {
  const connection = new Connection(":memory:");
  try {
    for (const step of stepsTo(version)) {
      connection.execute(step);
    }
    return schemaOf(connection);
  } finally {
    connection.close();
  }
}

function schemaOf(connection: Connection): SchemaRow[] {
  return connection.all<SchemaRow>("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid");
}
