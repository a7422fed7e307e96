import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { copiedTables } from "../../../src/storage/copy.ts";
import { openPostgresStore } from "../../../src/storage/postgres/store.ts";
import { openSqliteStore } from "../../../src/storage/sqlite/store.ts";
import { createFolder } from "../../support/folder.ts";
import { borrowDatabase } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { columnsOf } from "./table-contents.ts";

const withoutServers = "concerns servers that run, and none does";

/** The tables and columns that a copy leaves out, and why. */
const leftOut = {
  sqlite: {
    history: "its lineage is a part of the head; all changes of a copy have been applied to its stock",
    sqlite_sequence: "the newest hold's position is a part of the head",
    "stock.changes": "is counted anew",
    "changes.previous": "is linked anew",
    "changes.number": "is counted anew",
    change_marks: "are set anew",
    usage_saves: withoutServers,
    change_counters: withoutServers,
    last_backup: "is of the store that is copied",
  },
  postgres: {
    petstore_schema: "its version is that of the program",
    head: "is the head, with the revision of the newest change",
    usage_saves: withoutServers,
    change_counts: withoutServers,
    servers: withoutServers,
    "webhooks.claimed_by": withoutServers,
    "webhooks.claimed_until": withoutServers,
  },
} satisfies Record<string, Record<string, string>>;

/** Expects each table and column to be either copied, or left out for a reason. */
async function expectAllKnown(location: string, reasons: Readonly<Record<string, string>>): Promise<void> {
  const tables = Object.entries(await columnsOf(location)).filter(([name]) => !(name in reasons));
  const present = tables.map(([name, columns]) => [
    name,
    columns.filter((column) => !(`${name}.${column}` in reasons)),
  ]);
  const copied = copiedTables.map(({ name, columns }) => [name, Object.keys(columns)]);
  const sorted = (entries: unknown[][]) =>
    Object.fromEntries(entries.map(([name, columns]) => [name, new Set(columns as string[])]));
  expect(sorted(present)).toEqual(sorted(copied));
}

describe("a copy moves, or leaves out for a reason, every column", () => {
  it("of the store in a file", async () => {
    const file = join(createFolder(), "petstore.db");
    await openSqliteStore(file).close();
    await expectAllKnown(file, leftOut.sqlite);
  });

  it.skipIf(postgresPrograms === undefined)("of the store in PostgreSQL", async () => {
    const database = await borrowDatabase();
    onTestFinished(() => database.remove());
    await (await openPostgresStore(database.url)).close();
    await expectAllKnown(database.url, leftOut.postgres);
  });
});
