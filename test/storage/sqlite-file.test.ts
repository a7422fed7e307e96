import { linkSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Connection } from "../../src/storage/sqlite/connection.ts";
import { openDatabase, prepareDatabase } from "../../src/storage/sqlite/database.ts";
import { applicationId, migrate, schemaVersion } from "../../src/storage/sqlite/migrations.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { StoreFileError } from "../../src/storage/sqlite/store-file.ts";
import { createFolder } from "../support/folder.ts";
import { createKey, createOrder, createPet, everything, hashOf, setStock } from "./samples.ts";

let folder: string;

beforeEach(() => {
  folder = createFolder();
});

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

describe("a new file", () => {
  it("is created with its folders, for its owner alone", async () => {
    const file = join(folder, "a", "b", "petstore.db");
    const store = openSqliteStore(file);
    await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
    expect(readdirSync(join(folder, "a", "b")).map((name) => modeOf(join(folder, "a", "b", name)))).toContain("600");
    expect(new Set(readdirSync(join(folder, "a", "b")).map((name) => modeOf(join(folder, "a", "b", name)))).size).toBe(
      1,
    );
    await store.close();
    expect(readdirSync(join(folder, "a", "b"))).toEqual(["petstore.db"]);
  });

  it("is created where a symbolic link leads to", async () => {
    symlinkSync(join(folder, "target.db"), join(folder, "link.db"));
    await openSqliteStore(join(folder, "link.db")).close();
    expect(statSync(join(folder, "target.db")).size).toBeGreaterThan(0);
  });

  it("is not created where the store is to exist", () => {
    const file = join(folder, "petstore.db");
    expect(() => openSqliteStore(file, { ifMissing: "refuse" })).toThrow(`${file}: there is no such store`);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is migrated from empty, once", () => {
    const path = prepareDatabase(join(folder, "petstore.db"));
    const connection = openDatabase(path);
    expect(connection.pragma("user_version")).toBe(BigInt(schemaVersion));
    migrate(connection);
    expect(connection.pragma("user_version")).toBe(BigInt(schemaVersion));
    expect(connection.pragma("application_id")).toBe(BigInt(applicationId));
    expect(connection.pragma("integrity_check")).toBe("ok");
    connection.close();
  });
});

describe("a store that is up to date", () => {
  it("is not written to by being opened and read, which servers would take for a change", async () => {
    const file = join(folder, "petstore.db");
    const server = openSqliteStore(file);
    const revision = await server.changeTokens();
    const command = openSqliteStore(file);
    await command.listKeys();
    await command.maintenance.backup(join(folder, "copy.db"));
    await command.close();
    expect(await server.changeTokens()).toEqual(revision);
    const another = openSqliteStore(file);
    await another.importAll({ pets: [createPet({ id: 1n })] }, 0);
    await another.close();
    expect(await server.changeTokens()).not.toEqual(revision);
    await server.close();
  });

  it("may be written to by other programs, which changes all tokens", async () => {
    const file = join(folder, "petstore.db");
    const server = openSqliteStore(file);
    const before = await server.changeTokens();
    const shell = new Sqlite(file);
    shell.exec("DELETE FROM orders; CREATE TABLE others (id INTEGER)");
    shell.close();
    const after = await server.changeTokens();
    expect(after).toEqual({
      keys: before.keys + 1,
      stock: before.stock + 1,
      usage: before.usage + 1,
      webhooks: before.webhooks + 1,
      uncounted: 1,
    });
    expect(await server.changeTokens()).toEqual(after);
    await server.close();
  });
});

describe("the number of keys", () => {
  it("is counted again only once a key has changed or expired, be it by another program", async () => {
    const file = join(folder, "petstore.db");
    const store = openSqliteStore(file);
    onTestFinished(() => store.close());
    await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
    await store.createKey(createKey({ id: "key_b", expiresAtMs: 5_000 }), hashOf("b"));
    await store.changeTokens();
    const all = vi.spyOn(Connection.prototype, "all");
    onTestFinished(() => all.mockRestore());
    const isCounted = async (atMs: number, free: number) => {
      all.mockClear();
      expect((await store.countKeys(atMs)).free).toBe(free);
      return all.mock.calls.some(([sql]) => sql.includes("FROM keys"));
    };
    expect([await isCounted(1, 2), await isCounted(1, 2), await isCounted(4_999, 2)]).toEqual([true, false, false]);
    expect([await isCounted(5_000, 1), await isCounted(9_000, 1)]).toEqual([true, false]);
    expect(await isCounted(4_999, 2)).toBe(true);
    const other = new Connection(file);
    other.run(`UPDATE keys SET revoked_at_ms = 1`);
    other.close();
    await store.changeTokens();
    expect(await isCounted(4_999, 0)).toBe(true);
  });
});

describe("a file that is no store of ours", () => {
  const file = () => join(folder, "petstore.db");

  /** Every refusal is one line that names the file, and leaves it as it was. */
  function check(expected: string) {
    const before = readFileSync(file());
    let message = "";
    try {
      openSqliteStore(file());
    } catch (error) {
      expect(error).toBeInstanceOf(StoreFileError);
      message = (error as Error).message;
    }
    expect(message).toBe(`${file()}: ${expected}`);
    expect(readFileSync(file())).toEqual(before);
    expect(readdirSync(folder)).toEqual(["petstore.db"]);
  }

  function write(sql: string) {
    const driver = new Sqlite(file());
    driver.exec(sql);
    driver.close();
  }

  it("is refused when a newer version has written it", async () => {
    await openSqliteStore(file()).close();
    write(`PRAGMA user_version = ${schemaVersion + 1}`);
    check("written by a newer version of petstore; use that one");
  });

  it.each([
    [-1, `it is not sound: it is marked as version -1 of the schema; there are 1 to ${schemaVersion}`],
    [0, `it is not sound: it is marked as version 0 of the schema; there are 1 to ${schemaVersion}`],
    [3, "it is not sound: the table pets is not as petstore makes it, and 21 more, which 'petstore check' tells"],
  ])("is refused when it is marked as version %i, which it is not", async (version, message) => {
    await openSqliteStore(file()).close();
    write(`PRAGMA user_version = ${version}`);
    check(message);
  });

  it("is refused when it would run what others have added", async () => {
    await openSqliteStore(file()).close();
    write(
      "CREATE TRIGGER spy AFTER UPDATE ON pets BEGIN DELETE FROM orders; END; CREATE VIEW sold AS SELECT * FROM pets",
    );
    check("it is not sound: the trigger spy is not petstore's, and 1 more, which 'petstore check' tells");
  });

  it("is refused when it has nothing but a version", () => {
    write("PRAGMA user_version = -1");
    check("a SQLite database, but not a pet store");
  });

  it("is refused when another program has written it", () => {
    write("CREATE TABLE other (id INTEGER)");
    check("a SQLite database, but not a pet store");
  });

  it("is refused when another program has marked it as its own", () => {
    write("PRAGMA application_id = 42");
    check("a SQLite database, but not a pet store");
  });

  it("is refused when it has a second name, unless a restore that was cut short has left that", async () => {
    const store = join(createFolder(), "petstore.db");
    await openSqliteStore(store).close();
    linkSync(store, `${store}.before-restore`);
    await openSqliteStore(store).close();
    expect(() => openSqliteStore(`${store}.before-restore`)).toThrow("has 2 names");
    rmSync(`${store}.before-restore`);
    linkSync(store, file());
    check("has 2 names (hard links), and may have one; remove the others");
  });

  it("is refused when its name ends in white space, and is not taken for the file without it", async () => {
    await openSqliteStore(file()).close();
    symlinkSync(`${file()} `, join(folder, "link.db"));
    for (const name of [`${file()} `, join(folder, "link.db")]) {
      expect(() => openSqliteStore(name)).toThrow(`${name}: the name of a store must not end in white space`);
    }
  });

  it("is refused when it is no database", () => {
    writeFileSync(file(), "id,name\n1,Rex\n".repeat(1_000));
    check("not a SQLite database");
  });

  it("is refused when it is a folder", () => {
    expect(() => openSqliteStore(folder)).toThrow(`${folder}: not a file`);
  });

  it("is refused when a file stands in the place of its folder", () => {
    writeFileSync(join(folder, "a"), "");
    expect(() => openSqliteStore(join(folder, "a", "petstore.db"))).toThrow(StoreFileError);
  });
});

describe("a connection", () => {
  it.each([
    ["journal_mode", "wal"],
    ["synchronous", 2n],
    ["foreign_keys", 1n],
    ["busy_timeout", 5_000n],
  ])("has %s = %s", (pragma, expected) => {
    const connection = openDatabase(prepareDatabase(join(folder, "petstore.db")));
    expect(connection.pragma(pragma)).toBe(expected);
    connection.close();
  });

  it("tells that the store is unavailable while somebody else holds it for too long", async () => {
    const file = join(folder, "petstore.db");
    const store = openSqliteStore(file, { busyTimeoutMs: 20 });
    await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
    const other = new Connection(file);
    other.run("BEGIN IMMEDIATE");
    await expect(setStock(store, 1n, 5n)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(store.importAll({ pets: [createPet({ id: 2n })] }, 0)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(await store.listInventory(everything)).toMatchObject([{ petId: 1n, quantity: 0n }]);
    other.run("COMMIT");
    await setStock(store, 1n, 6n);
    expect(await store.listInventory(everything)).toMatchObject([{ petId: 1n, quantity: 6n }]);
    other.close();
    await store.close();
  });
});

describe("an import", () => {
  it("puts no pets in when the orders cannot be put in", async () => {
    const file = join(folder, "petstore.db");
    const store = openSqliteStore(file);
    const other = new Connection(file);
    other.execute("CREATE TRIGGER refuse BEFORE INSERT ON orders BEGIN SELECT RAISE(ABORT, 'no orders today'); END");
    other.close();
    const imports = { pets: [createPet({ id: 1n })], orders: [createOrder({ id: 1n })] };
    await expect(store.importAll(imports, 0)).rejects.toThrow("no orders today");
    expect(await store.listInventory(everything)).toEqual([]);
    await store.close();
  });

  it("fails where its file is moved meanwhile, and changes nothing there", async () => {
    const [file, moved] = [join(folder, "petstore.db"), join(folder, "moved.db")];
    const store = openSqliteStore(file);
    async function* moveFile() {
      yield createPet({ id: 1n });
      renameSync(file, moved);
    }
    await expect(store.importAll({ pets: moveFile() }, 0)).rejects.toThrow("is not the file that was opened");
    renameSync(moved, file);
    expect(await store.listInventory(everything)).toEqual([]);
    await store.importAll({ pets: [createPet({ id: 2n })] }, 0);
    expect(await store.listInventory(everything)).toMatchObject([{ petId: 2n }]);
    await store.close();
  });

  it("keeps the log from no checkpoint while it waits for its input", async () => {
    const file = join(folder, "petstore.db");
    const store = openSqliteStore(file);
    await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
    const other = new Connection(file, { busyTimeoutMs: 0 });
    async function* slowly() {
      yield createPet({ id: 2n });
      await setStock(store, 1n, 1n);
      expect(other.pragma("wal_checkpoint(TRUNCATE)")).toBe(0n);
    }
    await store.importAll({ pets: slowly() }, 0);
    other.close();
    await store.close();
  });
});

describe("the write-ahead log", () => {
  it("stays small over 100,000 updates", async () => {
    const file = join(folder, "petstore.db");
    const store = openSqliteStore(file);
    await store.importAll({ pets: Array.from({ length: 1_000 }, (_, n) => createPet({ id: BigInt(n) })) }, 0);
    for (let round = 1n; round <= 100n; round += 1n) {
      await Promise.all(
        Array.from({ length: 1_000 }, (_, n) => setStock(store, BigInt(n), round * 1_000n + BigInt(n))),
      );
    }
    expect(statSync(`${file}-wal`).size).toBeLessThan(24 * 1024 * 1024);
    await store.close();
  });

  it("stays small over updates that come one by one", async () => {
    const file = join(folder, "petstore.db");
    const store = openSqliteStore(file);
    await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
    // Each takes a page of the log: all of them 26 MiB.
    for (let quantity = 1n; quantity <= 6_500n; quantity += 1n) {
      await setStock(store, 1n, quantity);
    }
    expect(statSync(`${file}-wal`).size).toBeLessThan(24 * 1024 * 1024);
    await store.close();
  });
});

describe("a backup", () => {
  it("is whole, alone and of one moment, though updates go on", async () => {
    const file = join(folder, "petstore.db");
    const copy = join(folder, "copy.db");
    const store = openSqliteStore(file);
    const count = 20_000;
    await store.importAll(
      {
        pets: Array.from({ length: count }, (_, n) => createPet({ id: BigInt(n), name: "x".repeat(500) })),
      },
      0,
    );
    await setStock(store, 0n, 0n);
    let backedUp = false;
    const backup = store.maintenance.backup(copy).then(() => {
      backedUp = true;
    });
    let quantity = 0n;
    do {
      quantity += 1n;
      await setStock(store, 0n, quantity);
      await setStock(store, BigInt(count - 1), quantity);
    } while (!backedUp);
    await backup;
    await store.close();

    expect(readdirSync(folder).sort()).toEqual(["copy.db", "petstore.db"]);
    expect(modeOf(copy)).toBe("600");
    // Bytes 18 and 19 of the header say 2 in WAL mode: https://sqlite.org/fileformat.html
    expect([...readFileSync(copy).subarray(18, 20)]).toEqual([1, 1]);
    const restored = openSqliteStore(copy);
    const items = await restored.listInventory(everything);
    expect(items.length).toBe(count);
    // The first is updated before the last: of one moment, it is at most one update ahead.
    expect([0n, 1n]).toContain((items[0]?.quantity ?? -1n) - (items[count - 1]?.quantity ?? -1n));
    await restored.close();
  });

  it("is refused when its file exists, which stays as it was", async () => {
    const store = openSqliteStore(join(folder, "petstore.db"));
    const copy = join(folder, "copy.db");
    writeFileSync(copy, "mine");
    await expect(store.maintenance.backup(copy)).rejects.toThrow(`${copy}: exists already`);
    expect(readFileSync(copy, "utf8")).toBe("mine");
    await store.close();
  });

  it.each([
    "petstore.db",
    "petstore.db-wal",
    "petstore.db-shm",
    "petstore.db-journal",
    "petstore.db.lock",
    "petstore.db.lock-journal",
    "petstore.db.start.lock",
    "petstore.db.before-restore",
    "petstore.db.before-restore-wal",
  ])("is refused where the store has files of its own, by whatever path: %s", async (name) => {
    symlinkSync(folder, join(folder, "alias"));
    symlinkSync(join(folder, "petstore.db"), join(folder, "link.db"));
    const store = openSqliteStore(join(folder, "link.db"));
    const before = readdirSync(folder);
    for (const path of [join(folder, name), join(folder, "alias", name)]) {
      await expect(store.maintenance.backup(path)).rejects.toThrow(
        `${path}: belongs to the store itself; name another file`,
      );
    }
    expect(readdirSync(folder)).toEqual(before);
    await store.close();
  });

  it("is refused where a symbolic link to nothing has its name, or a log is left of another file", async () => {
    const store = openSqliteStore(join(folder, "petstore.db"));
    const copy = join(folder, "copy.db");
    symlinkSync(join(folder, "nothing"), join(folder, "link.db"));
    await expect(store.maintenance.backup(join(folder, "link.db"))).rejects.toThrow(
      "link.db: exists already; name a new file",
    );
    for (const end of ["-wal", "-journal"]) {
      writeFileSync(copy + end, "");
      await expect(store.maintenance.backup(copy)).rejects.toThrow(`${copy}${end}: left of another file`);
      rmSync(copy + end);
    }
    await store.maintenance.backup(copy);
    await store.close();
  });

  it("has the very name that it was given, white space included", async () => {
    const store = openSqliteStore(join(folder, "petstore.db"));
    const cwd = process.cwd();
    process.chdir(folder);
    await store.maintenance.backup(" copy.db ").finally(() => process.chdir(cwd));
    await store.close();
    expect(readdirSync(folder)).toEqual([" copy.db ", "petstore.db"]);
  });

  it("is refused when its folder does not exist", async () => {
    const store = openSqliteStore(join(folder, "petstore.db"));
    await expect(store.maintenance.backup(join(folder, "none", "copy.db"))).rejects.toThrow("ENOENT");
    await store.close();
  });
});
