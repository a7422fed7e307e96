import fs, {
  existsSync,
  type PathLike,
  readdirSync,
  readFileSync,
  rmSync,
  type StatSyncOptions,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { copyStore } from "../../src/cli/store.ts";
import type { Connection } from "../../src/storage/sqlite/connection.ts";
import { backUp, restoreDatabase } from "../../src/storage/sqlite/maintenance/backup.ts";
import { checkDatabase } from "../../src/storage/sqlite/maintenance/check.ts";
import { SqliteMaintenance } from "../../src/storage/sqlite/maintenance/maintenance.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";

/** Notes what is synced, linked, renamed and removed from now on, in order, until the test has ended. */
function recordDeeds(): unknown[][] {
  const deeds: unknown[][] = [];
  const paths = new Map<number, PathLike>();
  const { openSync, fsyncSync, linkSync, renameSync, rmSync } = fs;
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
    linkSync(from, to) {
      deeds.push(["link", from, to]);
      linkSync(from, to);
    },
    renameSync(from, to) {
      deeds.push(["rename", from, to]);
      renameSync(from, to);
    },
    rmSync(path, options) {
      if (existsSync(path)) {
        deeds.push(["remove", path]);
      }
      rmSync(path, options);
    },
  });
  onTestFinished(() => replaceInFs({ openSync, fsyncSync, linkSync, renameSync, rmSync }));
  return deeds;
}

function replaceInFs(functions: Partial<typeof fs>): void {
  Object.assign(fs, functions);
  syncBuiltinESMExports();
}

/** The names of a file's drafts. */
function draftOf(file: string): RegExp {
  return new RegExp(`^${RegExp.escape(file)}\\.[0-9a-f]{12}\\.tmp$`);
}

it("puts a backup on disk, and then its name", async () => {
  const folder = createFolder();
  const deeds = recordDeeds();
  const copy = join(folder, "copy.db");
  const store = openSqliteStore(join(folder, "petstore.db"));
  await store.maintenance.backup(copy);
  await store.close();
  const draft = expect.stringMatching(draftOf(copy));
  expect(deeds).toEqual([
    ["sync", draft],
    ["link", draft, copy],
    ["remove", draft],
    ["sync", folder],
  ]);
});

/** Makes a file of each name that was linked or renamed, as a command that is killed leaves it. Returns the names. */
function leaveDrafts(deeds: unknown[][]): string[] {
  const drafts = deeds.filter(([deed]) => deed === "link" || deed === "rename").map(([, from]) => String(from));
  for (const draft of drafts) {
    writeFileSync(draft, "left");
  }
  return drafts;
}

it("backs up beside the draft of a backup that was killed, and whose process had the same id", async () => {
  const folder = createFolder();
  const [copy, store] = [join(folder, "copy.db"), openSqliteStore(join(folder, "petstore.db"))];
  const deeds = recordDeeds();
  await store.maintenance.backup(copy);
  rmSync(copy);
  expect(leaveDrafts(deeds)).toHaveLength(1);
  await store.maintenance.backup(copy);
  await store.close();
  expect(await checkDatabase(copy, "full")).toEqual([]);
});

it("restores beside the drafts of a restore that was killed, and whose process had the same id", async () => {
  const folder = createFolder();
  const [copy, restored] = [join(folder, "copy.db"), join(folder, "restored.db")];
  const store = openSqliteStore(join(folder, "petstore.db"));
  await store.maintenance.backup(copy);
  await store.close();
  const deeds = recordDeeds();
  await restoreDatabase(copy, restored);
  rmSync(restored);
  expect(leaveDrafts(deeds)).toHaveLength(2);
  await restoreDatabase(copy, restored);
  expect(await checkDatabase(restored, "full")).toEqual([]);
});

/** From now on, until the test has ended, the file system refuses hard links. */
function refuseLinks(code: string): void {
  const { linkSync } = fs;
  replaceInFs({
    linkSync() {
      throw Object.assign(new Error(`${code}: link`), { code });
    },
  });
  onTestFinished(() => replaceInFs({ linkSync }));
}

/** Another program makes a file as soon as the backup has seen for the last time that there is none. */
function makeMeanwhile(copy: string): void {
  const { lstatSync } = fs;
  const looked = (path: PathLike, options?: StatSyncOptions) => {
    const found = lstatSync(path, options);
    if (path === `${copy}-journal` && readdirSync(dirname(copy)).some((name) => name.endsWith(".tmp"))) {
      writeFileSync(copy, "mine");
    }
    return found;
  };
  replaceInFs({ lstatSync: looked as typeof lstatSync });
  onTestFinished(() => replaceInFs({ lstatSync }));
}

it.each(["EPERM", "EACCES", "ENOTSUP", "ENOSYS"])("backs up where no links are allowed: %s", async (code) => {
  const folder = createFolder();
  const [copy, store] = [join(folder, "copy.db"), openSqliteStore(join(folder, "petstore.db"))];
  refuseLinks(code);
  const deeds = recordDeeds();
  await store.maintenance.backup(copy);
  await store.close();
  expect(deeds.slice(-2)).toEqual([
    ["rename", expect.stringMatching(draftOf(copy)), copy],
    ["sync", folder],
  ]);
  expect(await checkDatabase(copy, "full")).toEqual([]);
});

it.each([
  ["links", () => {}],
  ["no links", () => refuseLinks("EPERM")],
])("overwrites no file that was made during the backup, on a file system with %s", async (_what, prepare) => {
  const folder = createFolder();
  const [copy, store] = [join(folder, "copy.db"), openSqliteStore(join(folder, "petstore.db"))];
  prepare();
  makeMeanwhile(copy);
  await expect(store.maintenance.backup(copy)).rejects.toThrow(`${copy}: exists already; name a new file`);
  await store.close();
  expect(readFileSync(copy, "utf8")).toBe("mine");
  expect(readdirSync(folder).filter((name) => name.startsWith("copy."))).toEqual(["copy.db"]);
});

it("refuses at once to replace a store that it could not keep, and restores when that is moved away", async () => {
  const folder = createFolder();
  const [copy, file] = [join(folder, "copy.db"), join(folder, "petstore.db")];
  const store = openSqliteStore(file);
  await store.maintenance.backup(copy);
  await store.close();
  refuseLinks("EPERM");
  const copied: number[] = [];

  const restored = restoreDatabase(copy, file, (done) => copied.push(done));

  await expect(restored).rejects.toThrow(`${file}: it can have no hard link, by which a restore keeps`);
  expect(copied).toEqual([]);
  expect(await checkDatabase(file, "full")).toEqual([]);
  fs.renameSync(file, `${file}.former`);
  await restoreDatabase(copy, file);
  expect(await checkDatabase(file, "full")).toEqual([]);
});

it("names the disk where it is full, before it replaces a store", async () => {
  const folder = createFolder();
  const [copy, file] = [join(folder, "copy.db"), join(folder, "petstore.db")];
  const store = openSqliteStore(file);
  await store.maintenance.backup(copy);
  await store.close();
  refuseLinks("ENOSPC");
  await expect(restoreDatabase(copy, file)).rejects.toThrow("ENOSPC: link");
});

it("leaves no file where neither a link nor a rename succeeds", async () => {
  const folder = createFolder();
  const [copy, store] = [join(folder, "copy.db"), openSqliteStore(join(folder, "petstore.db"))];
  refuseLinks("EPERM");
  const { renameSync } = fs;
  replaceInFs({
    renameSync() {
      throw Object.assign(new Error("EIO: rename"), { code: "EIO" });
    },
  });
  onTestFinished(() => replaceInFs({ renameSync }));
  await expect(store.maintenance.backup(copy)).rejects.toThrow();
  await store.close();
  expect(readdirSync(folder).filter((name) => name.startsWith("copy."))).toEqual([]);
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

it("leaves the former store its one name when the system does not let the restored one take it", async () => {
  const folder = createFolder();
  const [copy, file] = [join(folder, "copy.db"), join(folder, "petstore.db")];
  const store = openSqliteStore(file);
  await store.maintenance.backup(copy);
  await store.close();
  const { renameSync } = fs;
  onTestFinished(() => replaceInFs({ renameSync }));
  replaceInFs({
    renameSync() {
      throw Object.assign(new Error("EIO: rename"), { code: "EIO" });
    },
  });
  await expect(restoreDatabase(copy, file)).rejects.toThrow("EIO: rename");
  expect(readdirSync(folder).toSorted()).toEqual([
    "copy.db",
    "petstore.db",
    "petstore.db.lock",
    "petstore.db.start.lock",
  ]);
});

it("gives a damaged store its log back when the system does not let the restored one take its name", async () => {
  const folder = createFolder();
  const [copy, file] = [join(folder, "copy.db"), join(folder, "petstore.db")];
  const store = openSqliteStore(file);
  await store.maintenance.backup(copy);
  await store.close();
  fs.writeFileSync(file, "damaged ".repeat(1_000));
  fs.writeFileSync(`${file}-wal`, "log");
  const { renameSync } = fs;
  onTestFinished(() => replaceInFs({ renameSync }));
  replaceInFs({
    renameSync(from, to) {
      if (to === file) {
        throw Object.assign(new Error("EIO: rename"), { code: "EIO" });
      }
      renameSync(from, to);
    },
  });
  await expect(restoreDatabase(copy, file)).rejects.toThrow("EIO: rename");
  expect(fs.readFileSync(`${file}-wal`, "utf8")).toBe("log");
  expect(readdirSync(folder).filter((name) => name.includes("before-restore"))).toEqual([]);
});

/** From now on, until the test has ended, nobody may list what is in a folder. */
function refuseToOpen(folder: string): void {
  const { openSync } = fs;
  replaceInFs({
    openSync(path, ...rest) {
      if (path === folder) {
        throw Object.assign(new Error("EACCES: open"), { code: "EACCES" });
      }
      return openSync(path, ...rest);
    },
  });
  onTestFinished(() => replaceInFs({ openSync }));
}

it.each<[command: string, run: (from: string, to: string) => Promise<unknown>, message: string]>([
  ["backup", (from, to) => new SqliteMaintenance(from).backup(to), "EACCES: open"],
  ["copy", (from, to) => copyStore(from, to, () => {}), "permission denied"],
])("leaves no %s in a folder whose names it cannot put on disk", async (_command, run, message) => {
  const [from, folder] = [join(createFolder(), "petstore.db"), createFolder()];
  await openSqliteStore(from).close();
  refuseToOpen(folder);
  await expect(run(from, join(folder, "copy.db"))).rejects.toThrow(message);
  expect(readdirSync(folder).filter((name) => !name.endsWith(".lock"))).toEqual([]);
});
