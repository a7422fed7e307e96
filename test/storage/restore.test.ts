import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Connection } from "../../src/storage/sqlite/connection.ts";
import { prepareDatabase } from "../../src/storage/sqlite/database.ts";
import { restoreDatabase } from "../../src/storage/sqlite/maintenance/backup.ts";
import { schemaVersion } from "../../src/storage/sqlite/migrations.ts";
import { acquireServerLock, StoreHeldError } from "../../src/storage/sqlite/server-lock.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";
import { createPet, everything, setStock } from "./samples.ts";

let folder: string;
let file: string;
let backup: string;

const madeIn = mkdtempSync(join(tmpdir(), "petstore-restore-"));

/** A store whose one pet has the quantity 2, and a backup of the time when it had 1. */
beforeAll(async () => {
  const store = openSqliteStore(join(madeIn, "petstore.db"));
  await store.importAll({ pets: [createPet({ id: 1n, quantity: 1n })] }, 0);
  await store.maintenance.backup(join(madeIn, "backup.db"));
  await setStock(store, 1n, 2n);
  await store.close();
});

afterAll(() => rmSync(madeIn, { recursive: true, force: true }));

/** Each test begins with copies. */
beforeEach(() => {
  folder = createFolder();
  file = join(folder, "petstore.db");
  backup = join(folder, "backup.db");
  copyFileSync(join(madeIn, "petstore.db"), file);
  copyFileSync(join(madeIn, "backup.db"), backup);
});

async function quantityIn(path: string): Promise<bigint | undefined> {
  const store = openSqliteStore(path, { ifMissing: "refuse" });
  const [item] = await store.listInventory(everything);
  await store.close();
  return item?.quantity;
}

/** What the history of a store is known by, and the version of its pet. */
async function identityOf(path: string): Promise<Record<"lineage" | "version", string> & { head: bigint }> {
  const store = openSqliteStore(path, { ifMissing: "refuse" });
  const { lineage, head } = await store.historyBounds(0);
  const { version } = await store.getEntry(1n);
  await store.close();
  return { lineage, head, version };
}

/** A restore that must be refused, with nothing changed. */
async function checkRefused(message: string | typeof StoreHeldError, from = backup): Promise<void> {
  const before = readFileSync(file);
  const names = readdirSync(folder);
  await expect(restoreDatabase(from, file)).rejects.toThrow(message);
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(readdirSync(folder).filter((name) => !name.endsWith(".lock"))).toEqual(
    names.filter((name) => !name.endsWith(".lock")),
  );
}

describe("a restore", () => {
  it("puts the backup in the place of the store, and keeps that", async () => {
    chmodSync(file, 0o640);
    const reports: number[] = [];
    const keptAs = await restoreDatabase(backup, file, (done, total) => reports.push(done / total));
    expect(keptAs).toBe(`${file}.before-restore`);
    expect(reports).toEqual(reports.toSorted((a, b) => a - b));
    expect(reports.at(-1)).toBe(1);
    expect((statSync(file).mode & 0o777).toString(8)).toBe("640");
    expect(readdirSync(folder).sort()).toEqual([
      "backup.db",
      "petstore.db",
      "petstore.db.before-restore",
      "petstore.db.lock",
      "petstore.db.start.lock",
    ]);
    expect([await quantityIn(file), await quantityIn(`${file}.before-restore`)]).toEqual([1n, 2n]);
  });

  it.runIf(process.geteuid?.() === 0)(
    "leaves a new store to the owner of the folder where root restores it",
    async () => {
      const other = createFolder();
      chownSync(other, 65_534, 65_534);
      await restoreDatabase(backup, join(other, "petstore.db"));
      expect(readdirSync(other).sort()).toEqual(["petstore.db", "petstore.db.lock", "petstore.db.start.lock"]);
      for (const name of readdirSync(other)) {
        expect(statSync(join(other, name)), name).toMatchObject({ uid: 65_534, gid: 65_534 });
        expect(statSync(join(other, name)).mode & 0o077, name).toBe(0);
      }
    },
  );

  it("keeps what stood only in the log of a store that has crashed", async () => {
    const writer = new Sqlite(file);
    writer.pragma("wal_autocheckpoint = 0");
    writer.exec("UPDATE stock SET quantity = 3");
    const [main, log] = [readFileSync(file), readFileSync(`${file}-wal`)];
    writer.close();
    writeFileSync(file, main);
    writeFileSync(`${file}-wal`, log);
    await restoreDatabase(backup, file);
    expect(existsSync(`${file}-wal`)).toBe(false);
    expect([await quantityIn(file), await quantityIn(`${file}.before-restore`)]).toEqual([1n, 3n]);
  });

  it("replaces a store that is damaged beyond reading, whose log is kept with it", async () => {
    writeFileSync(file, "damaged ".repeat(1_000));
    writeFileSync(`${file}-wal`, "log");
    await restoreDatabase(backup, file);
    expect(await quantityIn(file)).toBe(1n);
    expect(readFileSync(`${file}.before-restore`, "utf8")).toMatch(/^damaged /);
    expect(readFileSync(`${file}.before-restore-wal`, "utf8")).toBe("log");
  });

  it("is not hindered by the name of a log that one which was cut short has left", async () => {
    const writer = new Sqlite(file);
    writer.exec("UPDATE stock SET quantity = 3");
    const [main, log] = [readFileSync(file), readFileSync(`${file}-wal`)];
    writer.close();
    writeFileSync(file, main);
    writeFileSync(`${file}-wal`, log);
    writeFileSync(`${file}.before-restore-wal`, "left");
    await restoreDatabase(backup, file);
    expect(readdirSync(folder).filter((name) => name.endsWith("-wal"))).toEqual([]);
    expect([await quantityIn(file), await quantityIn(`${file}.before-restore`)]).toEqual([1n, 3n]);
  });

  it("is not hindered by the second name of the store that one which was cut short has left", async () => {
    linkSync(file, `${file}.before-restore`);
    await restoreDatabase(backup, file);
    expect([await quantityIn(file), await quantityIn(`${file}.before-restore`)]).toEqual([1n, 2n]);
  });

  it("keeps the log that one which was cut short has left, when that is its last name", async () => {
    writeFileSync(file, "damaged ".repeat(1_000));
    writeFileSync(`${file}.before-restore-wal`, "log");
    await restoreDatabase(backup, file);
    expect(readFileSync(`${file}.before-restore-wal`, "utf8")).toBe("log");
  });

  it("drops the journal of a store that is gone, which SQLite would undo the new one by", async () => {
    const fresh = join(folder, "fresh.db");
    writeFileSync(`${fresh}-journal`, "journal");
    writeFileSync(`${fresh}-wal`, "log");
    await restoreDatabase(backup, fresh);
    expect(readdirSync(folder).filter((name) => name.startsWith("fresh.db"))).toEqual([
      "fresh.db",
      "fresh.db.lock",
      "fresh.db.start.lock",
    ]);
  });

  it("makes a store where there was none", async () => {
    const fresh = join(folder, "new", "petstore.db");
    expect(await restoreDatabase(backup, fresh)).toBeUndefined();
    expect(await quantityIn(fresh)).toBe(1n);
    expect(readdirSync(join(folder, "new"))).toEqual(["petstore.db", "petstore.db.lock", "petstore.db.start.lock"]);
  });

  it("keeps no empty file, as one that was cut short leaves it, and as a symbolic link to nothing becomes", async () => {
    const [empty, link] = [join(folder, "empty.db"), join(folder, "link.db")];
    writeFileSync(empty, "");
    writeFileSync(`${empty}.before-restore`, "kept");
    symlinkSync(join(folder, "target.db"), link);
    for (const fresh of [empty, link]) {
      expect(await restoreDatabase(backup, fresh)).toBeUndefined();
      expect(await quantityIn(fresh)).toBe(1n);
    }
    expect(readFileSync(`${empty}.before-restore`, "utf8")).toBe("kept");
    expect(readdirSync(folder)).not.toContain("target.db.before-restore");
  });

  it("leaves no store where there was none, when it fails", async () => {
    new Sqlite(backup).exec("DROP INDEX stock_by_status").close();
    const [fresh, link] = [join(folder, "petstore-2.db"), join(folder, "link.db")];
    symlinkSync(join(folder, "target.db"), link);
    for (const missing of [fresh, link]) {
      await expect(restoreDatabase(backup, missing)).rejects.toThrow("the index stock_by_status is missing");
      expect(existsSync(missing)).toBe(false);
    }
  });

  it("is refused where the log of the store has only the name that one which was cut short has given it", async () => {
    linkSync(file, `${file}.before-restore`);
    writeFileSync(`${file}.before-restore-wal`, "log");
    await expect(restoreDatabase(backup, file)).rejects.toThrow(
      `${file}.before-restore-wal: a restore that was cut short has left this log of the store`,
    );
    expect(readFileSync(`${file}.before-restore-wal`, "utf8")).toBe("log");
  });

  it("begins a history of its own, with other cursors and versions, as does a backup that is served itself", async () => {
    const [former, backedUp] = [await identityOf(file), await identityOf(backup)];
    await restoreDatabase(backup, file);
    const restored = await identityOf(file);
    expect(restored).toMatchObject({ head: backedUp.head, lineage: expect.stringMatching(/^[0-9a-f]{12}$/) });
    const all = [former, backedUp, restored];
    expect(new Set(all.map(({ lineage }) => lineage)).size).toBe(3);
    expect(new Set(all.map(({ version }) => version)).size).toBe(3);
    expect(await identityOf(`${file}.before-restore`)).toEqual(former);
  });

  it("takes a backup with a table of another program, whatever is in it", async () => {
    const theirs = new Sqlite(backup);
    theirs.exec(`CREATE TABLE theirs ("a""b" TEXT); INSERT INTO theirs VALUES (CAST(x'80' AS TEXT))`).close();
    await restoreDatabase(backup, file);
    expect(await quantityIn(file)).toBe(1n);
  });

  it("takes a backup of an older version", async () => {
    const older = join(folder, "older.db");
    new Sqlite(older).exec(readFileSync(join(import.meta.dirname, "schemas/v1.sql"), "utf8")).close();
    await restoreDatabase(older, file);
    expect(await quantityIn(file)).toBe(9_223_372_036_854_775_807n);
  });
});

describe("a restore is refused, and changes nothing,", () => {
  it("while a server holds the store", async () => {
    const lock = acquireServerLock(file);
    await checkRefused(StoreHeldError);
    lock.release();
  });

  it("while another command uses the store", async () => {
    const other = new Connection(file);
    other.run("BEGIN");
    other.get("SELECT 1 FROM pets");
    const before = readFileSync(file);
    await expect(restoreDatabase(backup, file)).rejects.toThrow("another process uses it");
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(existsSync(`${file}.before-restore`)).toBe(false);
    other.close();
  });

  it.each([
    ["sound", "", "another process uses it"],
    ["not sound", "DROP INDEX stock_by_status", "the index stock_by_status is missing"],
  ])("when a command makes the missing store meanwhile, and the backup is %s", async (_name, damage, message) => {
    new Sqlite(backup).exec(damage).close();
    const fresh = join(folder, "fresh.db");
    const restored = restoreDatabase(backup, fresh, () => {
      prepareDatabase(fresh);
      new Sqlite(fresh).exec("INSERT OR IGNORE INTO pets VALUES (7, 'Rex', 'dog', '[]', '[]')").close();
    });
    await expect(restored).rejects.toThrow(message);
    expect(new Sqlite(fresh).prepare("SELECT id FROM pets").all()).toEqual([{ id: 7 }]);
  });

  it("when a command begins to make the missing store", async () => {
    const fresh = join(folder, "fresh.db");
    let command: Sqlite.Database | undefined;
    const restored = restoreDatabase(backup, fresh, () => {
      command ??= new Sqlite(fresh).exec("BEGIN IMMEDIATE");
    });
    await expect(restored).rejects.toThrow("another process uses it");
    command?.exec("CREATE TABLE pets (id); COMMIT").close();
    expect(statSync(fresh).size).toBeGreaterThan(0);
  });

  it("when a store is kept from before", async () => {
    writeFileSync(`${file}.before-restore`, "mine");
    await checkRefused("kept by a former restore");
  });

  it("for the store itself, by whatever name", async () => {
    await checkRefused("this is the store itself", file);
    symlinkSync(folder, join(folder, "alias"));
    linkSync(file, join(folder, "hard.db"));
    for (const name of ["alias/petstore.db", "hard.db", "alias/hard.db"]) {
      await checkRefused("this is the store itself", join(folder, name));
    }
  });

  it.each<[end: string, message: string]>([
    ["-wal", "not a SQLite database"],
    ["-shm", "not a SQLite database"],
    [".lock", "a SQLite database, but not a pet store"],
  ])("for what belongs to the store: %s", async (end, message) => {
    const store = openSqliteStore(file);
    acquireServerLock(file).release();
    await setStock(store, 1n, 3n);
    await checkRefused(message, file + end);
    await store.close();
  });

  it("onto a store that has two names", async () => {
    linkSync(file, join(folder, "hard.db"));
    await checkRefused("has 2 names (hard links)");
  });

  it("for a file that is missing", () => checkRefused("there is no such store", join(folder, "none.db")));

  it.each<[name: string, damage: () => void, message: string]>([
    ["a text", () => writeFileSync(backup, "text\n".repeat(2_000)), "not a SQLite database"],
    ["cut short", () => truncateSync(backup, statSync(backup).size - 8_192), "malformed"],
    [
      "another program's",
      () => new Sqlite(backup).exec("PRAGMA application_id = 42").close(),
      "a SQLite database, but not a pet store",
    ],
    [
      "a newer version's",
      () => new Sqlite(backup).exec(`PRAGMA user_version = ${schemaVersion + 1}`).close(),
      "written by a newer version of petstore; use that one",
    ],
    ["empty", () => writeFileSync(backup, ""), "empty, and no store yet"],
    [
      "marked as older than it is",
      () => new Sqlite(backup).exec(`PRAGMA user_version = ${schemaVersion - 1}`).close(),
      "it is not sound: the table history is not as petstore makes it",
    ],
    [
      "somebody's to trigger",
      () => new Sqlite(backup).exec("CREATE TRIGGER spy AFTER UPDATE ON pets BEGIN DELETE FROM orders; END").close(),
      "it is not sound: the trigger spy is not petstore's",
    ],
    [
      "not sound",
      () => new Sqlite(backup).exec("UPDATE pets SET tags = '1'").close(),
      "it is not sound: pet 1: its photoUrls and tags must be lists of texts",
    ],
  ])("for a backup that is %s", async (_name, damage, message) => {
    damage();
    await checkRefused(message);
  });
});
