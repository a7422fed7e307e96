import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import pg from "pg";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { describeError } from "../../../src/cli/failure.ts";
import { copyStore } from "../../../src/cli/store.ts";
import { openPostgresStore } from "../../../src/storage/postgres/store.ts";
import { Connection } from "../../../src/storage/sqlite/connection.ts";
import { prepareDatabase } from "../../../src/storage/sqlite/database.ts";
import { acquireServerLock } from "../../../src/storage/sqlite/server-lock.ts";
import { createFolder } from "../../support/folder.ts";
import { mintKey } from "../../support/keys.ts";
import { guarded } from "../../support/postgres/cluster.ts";
import { clusterPort, createDatabase, runSql, urlOf } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { fillStore, withStoreAt } from "./filled-store.ts";

async function fill(location: string): Promise<void> {
  await withStoreAt(location, (store) => fillStore(store, Date.now()));
}

async function makeEmpty(location: string): Promise<void> {
  await withStoreAt(location, async () => {});
}

async function createFile(make: (file: string) => Promise<void> | void = fill): Promise<string> {
  const file = join(createFolder(), "petstore.db");
  await make(file);
  return file;
}

async function createUrl(make: (url: string) => Promise<void> = async () => {}): Promise<string> {
  const database = await createDatabase();
  onTestFinished(() => database.remove());
  await make(database.url);
  return database.url;
}

/** Runs SQL in a file. */
function execute(file: string, sql: string): void {
  const driver = new Sqlite(file);
  driver.exec(sql);
  driver.close();
}

function copy(from: string, to: string) {
  return copyStore(from, to, () => {});
}

/** Expects a copy to fail with one line, without any password. */
async function expectRefused(from: string, to: string, message: string | RegExp): Promise<void> {
  const line = await copy(from, to).then(() => "it was copied", describeError);
  expect(line).toMatch(message);
  expect(line).not.toMatch(/\n|geheim|only for tests/);
}

describe("a copy from a file to a file is refused", () => {
  it.each<[string, (file: string) => Promise<void> | void, string]>([
    ["is empty", (file) => writeFileSync(file, ""), "empty, and no store yet"],
    ["is no database", (file) => writeFileSync(file, "x".repeat(2_000)), "not a SQLite database"],
    ["is of another program", (file) => execute(file, "CREATE TABLE t (a)"), "but not a pet store"],
    [
      "is of an older version",
      (file) => execute(file, readFileSync(join(import.meta.dirname, "../schemas/v5.sql"), "utf8")),
      "written by an older version of petstore; start a server on it once",
    ],
    [
      "is of a newer version",
      async (file) => {
        await makeEmpty(file);
        execute(file, "PRAGMA user_version = 99");
      },
      "written by a newer version of petstore",
    ],
  ])("whose source %s", async (_, make, message) => {
    const to = join(createFolder(), "b.db");
    await expectRefused(await createFile(make), to, message);
    expect(existsSync(to)).toBe(false);
  });

  it("where both are the same", async () => {
    const file = await createFile();
    symlinkSync(file, `${file}.link`);
    await expectRefused(file, `${file}.link`, "this is the store that is copied from");
  });

  it("whose target has anything, or is of another program, and stays as it is", async () => {
    const [from, filled] = [await createFile(), await createFile()];
    const content = readFileSync(filled);
    await expectRefused(from, filled, /: the store already has pets, .*webhook_attempts; name a new file/);
    expect(readFileSync(filled).equals(content)).toBe(true);
    const older = await createFile((file) =>
      execute(file, readFileSync(join(import.meta.dirname, "../schemas/v1.sql"), "utf8")),
    );
    await expectRefused(from, older, ": the store already has pets");
    const foreign = await createFile((file) => execute(file, "CREATE TABLE t (a)"));
    await expectRefused(from, foreign, "a SQLite database, but not a pet store");
  });

  it("while a server uses either", async () => {
    const [from, to] = [await createFile(), await createFile(makeEmpty)];
    const lock = acquireServerLock(from);
    const served = `process ${process.pid} serves it; end that server first`;
    await expectRefused(from, to, `${from}: ${served}: what it writes from now on would be missing in the copy`);
    lock.release();
    const other = acquireServerLock(to);
    await expectRefused(from, to, `${to}: ${served}`);
    other.release();
  });

  it("whose target is missing, and has a server before the copy has its lock: the file stays for that server", async () => {
    const [from, to] = [await createFile(), join(createFolder(), "b.db")];
    const lock = acquireServerLock(to);
    onTestFinished(() => lock.release());
    rmSync(to);
    await expectRefused(from, to, `${to}: process ${process.pid} serves it; end that server first`);
    expect(existsSync(to)).toBe(true);
  });

  it.each<[does: string, change: (file: string) => void, left: boolean]>([
    ["leaves", () => {}, false],
    ["removes", (file) => rmSync(file), false],
    [
      "replaces",
      (file) => {
        rmSync(file);
        writeFileSync(file, "another program's");
      },
      true,
    ],
  ])(
    "whose commit fails at the very end, and whose file another program %s: no copy stays",
    async (_, change, isLeft) => {
      const [from, to] = [await createFile(), join(createFolder(), "b.db")];
      const original: Connection["run"] = Reflect.get(Connection.prototype, "run");
      const run = vi.spyOn(Connection.prototype, "run");
      onTestFinished(() => run.mockRestore());
      run.mockImplementation(function (this: Connection, sql, ...values) {
        const result = Reflect.apply(original, this, [sql, ...values]);
        if (sql === "COMMIT" && (statSync(to, { throwIfNoEntry: false })?.size ?? 0) > 0) {
          change(to);
          throw new Sqlite.SqliteError("disk I/O error", "SQLITE_IOERR_DIR_FSYNC");
        }
        return result;
      });
      await expectRefused(from, to, "disk I/O error");
      expect(existsSync(to)).toBe(isLeft);
    },
  );

  it.each<[does: string, use: (file: string) => Sqlite.Database, message: string]>([
    [
      "fills it",
      (file) => {
        prepareDatabase(file);
        return new Sqlite(file).exec("INSERT INTO pets VALUES (1, 'Rex', 'dog', '[]', '[]')").close();
      },
      "the store already has pets",
    ],
    ["begins to use it", (file) => new Sqlite(file).exec("BEGIN IMMEDIATE"), "another process uses it"],
  ])("whose target is missing, and a command %s before the copy is alone: the file stays", async (_, use, message) => {
    const [from, to] = [await createFile(), join(createFolder(), "b.db")];
    const original: Connection["pragma"] = Reflect.get(Connection.prototype, "pragma");
    const pragma = vi.spyOn(Connection.prototype, "pragma");
    onTestFinished(() => pragma.mockRestore());
    let command: Sqlite.Database | undefined;
    pragma.mockImplementation(function (this: Connection, text) {
      if (text === "journal_mode = DELETE") {
        pragma.mockRestore();
        command = use(to);
      }
      return Reflect.apply(original, this, [text]);
    });
    await expectRefused(from, to, message);
    command?.close();
    expect(existsSync(to)).toBe(true);
  });

  it("while another process reads the target", async () => {
    const [from, to] = [await createFile(), await createFile(makeEmpty)];
    const driver = new Sqlite(to);
    driver.exec("BEGIN; SELECT * FROM pets");
    await expectRefused(from, to, "another process uses it; try again when that has ended");
    driver.close();
    await copy(from, to);
  });
});

describe.skipIf(postgresPrograms === undefined)("a copy from or to PostgreSQL is refused", () => {
  it("with a wrong password", async () => {
    const file = await createFile();
    const { user, password } = guarded;
    const create = `CREATE USER ${user} PASSWORD '${password}'`;
    await runSql(
      urlOf(await clusterPort(), "postgres"),
      `DO $$ BEGIN ${create}; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$`,
    );
    const url = `postgres://${user}:geheim@127.0.0.1:${await clusterPort()}/postgres`;
    await expectRefused(file, url, "the user or the password is wrong");
    await expectRefused(url, `${file}.copy`, "the user or the password is wrong");
  });

  it("where there is no such database, or it cannot be reached", async () => {
    const file = await createFile();
    await expectRefused(file, urlOf(await clusterPort(), "nowhere"), "there is no such database");
    await expectRefused("postgres://x:geheim@127.0.0.1:1/y", file, "cannot be reached: connect ECONNREFUSED");
  });

  it("whose source has no store, or one of another version", async () => {
    const [url, to] = [await createUrl(), join(createFolder(), "b.db")];
    await expectRefused(url, to, "there is no such store");
    await makeEmpty(url);
    await runSql(url, "UPDATE petstore_schema SET version = version + 1");
    await expectRefused(url, to, "written by a newer version of petstore; use that one");
    expect(existsSync(to)).toBe(false);
  });

  it("where both are the same, under two names", async () => {
    const url = await createUrl(makeEmpty);
    const message =
      /^postgres:\/\/\S+@localhost:\S+: this is the store that is copied from; name another one to copy it to$/;
    await expectRefused(url, url.replace("127.0.0.1", "localhost"), message);
  });

  it("whose target has anything, or is of another program", async () => {
    const [file, url] = [await createFile(), await createUrl()];
    await mintKey(url, []);
    await expectRefused(file, url, /: the store already has (keys, secrets|secrets, keys); name an empty database/);
    const foreign = await createUrl((each) => runSql(each, "CREATE TABLE customers (id int)").then(() => {}));
    await expectRefused(file, foreign, "has tables of another program");
  });

  it("while a server uses either", async () => {
    const [file, url] = [await createFile(), await createUrl()];
    const store = await openPostgresStore(url);
    const server = await store.registerServer({ version: "1", countsAlone: true, replaced() {} });
    const used = `server ${server.id} uses it; end that server first`;
    await expectRefused(file, url, `${used} (one that was killed counts as ended after 6 s)`);
    await expectRefused(url, `${file}.copy`, `${used}: what it writes from now on would be missing in the copy`);
    await server.release();
    await store.close();
    await copy(file, url);
  });

  it("by a database that is full, and leaves nothing there", async () => {
    const [file, url] = [await createFile(), await createUrl(makeEmpty)];
    const full = "BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; END";
    await runSql(
      url,
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ ${full} $$`,
      "CREATE TRIGGER full_disk BEFORE INSERT ON holds FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    await expectRefused(file, url, /\/\/\*+@.*: could not extend file: No space left on device$/);
    await runSql(url, "DROP TRIGGER full_disk ON holds");
    await copy(file, url);
  });

  it("while another process has locked the target", async () => {
    const [file, url] = [await createFile(), await createUrl(makeEmpty)];
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query("BEGIN; INSERT INTO pets VALUES (1, '', '', '{}', '{}')");
    await expectRefused(file, url, "another process has locked the store");
    await client.end();
    await copy(file, url);
  });
});
