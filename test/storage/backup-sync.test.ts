import type { PathLike } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";

/** What was synced and renamed, in order. */
const { deeds } = vi.hoisted(() => ({ deeds: [] as unknown[][] }));

vi.mock(import("node:fs"), async (importOriginal) => {
  const fs = await importOriginal();
  const paths = new Map<number, PathLike>();
  const openSync: typeof fs.openSync = (path, ...rest) => {
    const descriptor = fs.openSync(path, ...rest);
    paths.set(descriptor, path);
    return descriptor;
  };
  const fsyncSync: typeof fs.fsyncSync = (descriptor) => {
    deeds.push(["sync", paths.get(descriptor)]);
    fs.fsyncSync(descriptor);
  };
  const renameSync: typeof fs.renameSync = (from, to) => {
    deeds.push(["rename", from, to]);
    fs.renameSync(from, to);
  };
  return { ...fs, openSync, fsyncSync, renameSync };
});

it("puts a backup on disk, and then its name", async () => {
  const folder = createFolder();
  const copy = join(folder, "copy.db");
  const store = openSqliteStore(join(folder, "petstore.db"));
  await store.backup(copy);
  await store.close();
  const draft = `${copy}.${process.pid}.tmp`;
  expect(deeds).toEqual([
    ["sync", draft],
    ["rename", draft, copy],
    ["sync", folder],
  ]);
});
