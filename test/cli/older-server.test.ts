import { readFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { expect, it } from "vitest";
import { acquireServerLock } from "../../src/storage/sqlite/server-lock.ts";
import { createFolder } from "../support/folder.ts";
import { petstore, projectRoot } from "../support/petstore.ts";

const versionOf = (db: string) => new Sqlite(db, { readonly: true }).pragma("user_version", { simple: true });

it.each(["keys list", "keys create --plan pro", "export", "backup copy.db"])(
  "does not migrate a store that an older server uses: %s",
  async (command) => {
    const cwd = createFolder();
    const db = join(cwd, "older.db");
    new Sqlite(db).exec(readFileSync(join(projectRoot, "test/storage/schemas/v1.sql"), "utf8")).close();
    const lock = acquireServerLock(db);
    const args = [...command.split(" "), "--db", db];
    expect(await petstore(args, { cwd })).toEqual({
      code: 1,
      stdout: "",
      stderr: `petstore: ${db}: process ${process.pid} serves it with an older version of petstore; use that one, or end the server\n`,
    });
    expect(versionOf(db)).toBe(1);
    lock.release();
    expect(await petstore(args, { cwd })).toMatchObject({ code: 0, stderr: "" });
    expect(versionOf(db)).toBeGreaterThan(1);
  },
);
