import { Connection } from "./connection.ts";
import { createSchema, schemaVersion } from "./migrations.ts";

interface SchemaRow {
  readonly type: string;
  readonly name: string;
  /** The table of an index or a trigger. */
  readonly table: string;
  readonly sql: string;
}

/**
 * Returns how a store differs from the schema of its version, a line for each difference: what is missing, what is not
 * the same, what only a later version has, and what others have added. A trigger of theirs would run with our updates.
 * Tables of other programs, such as Litestream's, are allowed.
 */
export function findSchemaFaults(connection: Connection): string[] {
  return connection.asOfOneMoment(() => {
    const version = Number(connection.pragma("user_version"));
    if (version < 1 || version > schemaVersion) {
      return [`it is marked as version ${version} of the schema; there are 1 to ${schemaVersion}`];
    }
    const [expected, last, present] = [expectedSchema(version), expectedSchema(schemaVersion), schemaOf(connection)];
    const others = present.filter((row) => rowLike(row, expected) === undefined);
    return [
      ...expected.flatMap((row) => tellDifference(row, rowLike(row, present))),
      ...others.flatMap((row) =>
        rowLike(row, last) === undefined
          ? describeForeign(row, last)
          : `${describe(row)} is of a later version than ${version}, as which the store is marked`,
      ),
    ];
  });
}

function tellDifference(expected: SchemaRow, present: SchemaRow | undefined): string[] {
  if (present?.sql === expected.sql) {
    return [];
  }
  return [`${describe(expected)} is ${present === undefined ? "missing" : "not as petstore makes it"}`];
}

/** Other programs may have tables of their own with indexes, and nothing else. */
function describeForeign(row: SchemaRow, ours: readonly SchemaRow[]): string[] {
  const isTheirs = row.type === "table" || (row.type === "index" && !ours.some(({ name }) => name === row.table));
  return isTheirs ? [] : [`${describe(row)} is not petstore's`];
}

function describe({ type, name }: SchemaRow): string {
  return `the ${type} ${name}`;
}

function rowLike({ name }: SchemaRow, rows: readonly SchemaRow[]): SchemaRow | undefined {
  return rows.find((row) => row.name === name);
}

/** The schema that the migrations make. */
function expectedSchema(version: number): SchemaRow[] {
  const connection = new Connection(":memory:");
  try {
    createSchema(connection, version);
    return schemaOf(connection);
  } finally {
    connection.close();
  }
}

/** Without the objects that SQLite makes itself, such as the index of a primary key, or the table of sequences. */
function schemaOf(connection: Connection): SchemaRow[] {
  return connection.all<SchemaRow>(
    `SELECT type, name, tbl_name AS "table", sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
     ORDER BY rowid`,
  );
}
