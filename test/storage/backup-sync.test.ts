import fs, { type PathLike, readdirSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Connection } from "../../src/storage/sqlite/connection.ts";
import { backUp } from "../../src/storage/sqlite/maintenance/backup.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";

/** Notes what is synced and renamed from now on, in order, until the test has ended. */
function recordDeeds(): unknown[][] {
  const deeds: unknown[][] = [];
  const paths = new Map<number, PathLike>();
  const { openSync, fsyncSync, renameSync } = fs;
  replaceInFs({
    openSync(path, ...rest) {
      const descriptor = openSync(path, ...rest);
      paths.set(descriptor, path);
      return descriptor;
    },
    fsyncSync(descriptor) {
      deeds.push(["sync", paths.get(descriptor)]);
      fsyncSync(descriptor);
    },
    renameSync(from, to) {
      deeds.push(["rename", from, to]);
      renameSync(from, to);
    },
  });
  onTestFinished(() => replaceInFs({ openSync, fsyncSync, renameSync }));
  return deeds;
}

function replaceInFs(functions: Partial<typeof fs>): void {
  Object.assign(fs, functions);
  syncBuiltinESMExports();
}

it("puts a backup on disk, and then its name", async () => {
  const folder = createFolder();
  const deeds = recordDeeds();
  const copy = join(folder, "copy.db");
  const store = openSqliteStore(join(folder, "petstore.db"));
  await store.maintenance.backup(copy);
  await store.close();
  const draft = `${copy}.${process.pid}.tmp`;
  expect(deeds).toEqual([
    ["sync", draft],
    ["rename", draft, copy],
    ["sync", folder],
  ]);
});

it("leaves nothing of a copy that fails, not even its journal", async () => {
  const folder = createFolder();
  const connection = {
    run: () => {},
    get: () => undefined,
    // SQLite leaves the journal of a large copy for which the disk is too small.
    async copyTo(draft: string) {
      writeFileSync(`${draft}-journal`, "pages");
      throw new Error("the disk is full");
    },
  } as unknown as Connection;
  await expect(backUp(connection, join(folder, "copy.db"))).rejects.toThrow("the disk is full");
  expect(readdirSync(folder)).toEqual([]);
});
