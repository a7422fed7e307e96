import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { Connection } from "../../src/storage/sqlite/connection.ts";
import { checkDatabase } from "../../src/storage/sqlite/maintenance/check.ts";
import { schemaVersion } from "../../src/storage/sqlite/migrations.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";
import { everything } from "./samples.ts";

const versions = Array.from({ length: schemaVersion }, (_, index) => index + 1);

const dumpOf = (version: number) => join(import.meta.dirname, "schemas", `v${version}.sql`);

/** Makes a store as a version of the schema had it, and returns its file. */
function createStoreOf(version: number): string {
  const file = join(createFolder(), "petstore.db");
  const driver = new Sqlite(file);
  driver.exec(readFileSync(dumpOf(version), "utf8"));
  driver.close();
  return file;
}

function schemaOf(file: string): unknown[] {
  const connection = new Connection(file);
  const rows = connection.all("SELECT type, name, sql FROM sqlite_schema ORDER BY name");
  connection.close();
  return rows;
}

describe.each(versions)("a store of version %i of the schema", (version) => {
  it("is kept for this test", () => {
    expect(existsSync(dumpOf(version))).toBe(true);
  });

  it("is sound before it is migrated", async () => {
    expect(await checkDatabase(createStoreOf(version), "full")).toEqual([]);
  });

  it("is opened with all that it holds", async () => {
    const file = createStoreOf(version);
    const store = openSqliteStore(file);
    expect(await store.listInventory(everything)).toEqual([
      { petId: -5n, quantity: 9_223_372_036_854_775_807n, status: "sold" },
      { petId: 7n, quantity: -1n, status: "available" },
    ]);
    expect(await store.getPet(-5n)).toMatchObject({
      name: "Rex",
      photoUrls: ["https://pets.example/a.jpg"],
      tags: ["Mix", "Zoë"],
    });
    expect(await store.listOrders(everything)).toMatchObject([{ id: 1n, petId: 7n, shipDateMs: 1_780_000_000_000 }]);
    expect(await store.listKeys()).toMatchObject([
      { id: "key_a", customQuota: { perMinute: 5, perDay: 3 }, unbans: 2, lastUsedAtMs: 1_700_000_000_007 },
      { id: "key_b", customQuota: undefined, revokedAtMs: 1_700_000_000_002 },
    ]);
    expect(await store.findKey(Buffer.alloc(32, 0xa0))).toMatchObject({ secretExpiresAtMs: 1_750_000_000_000 });
    expect(await store.loadUsage("key_a")).toMatchObject({ ban: { step: 4, endsAtMs: 1_700_000_000_006 }, unbans: 2 });
    expect((await store.listUsage()).map(({ keyId }) => keyId)).toEqual(["key_a"]);
    expect(await store.maintenance.lastBackup()).toEqual(
      version < 3 ? undefined : { takenAtMs: 1_700_000_000_009, bytes: 40_960 },
    );
    await store.close();
    expect(await checkDatabase(file, "full")).toEqual([]);
  });

  it("comes to have the schema of a new one", async () => {
    const file = createStoreOf(version);
    await openSqliteStore(file).close();
    const fresh = join(createFolder(), "petstore.db");
    await openSqliteStore(fresh).close();
    expect(schemaOf(file)).toEqual(schemaOf(fresh));
  });
});
