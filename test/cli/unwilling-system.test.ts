import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createPet } from "../storage/samples.ts";
import { createFolder } from "../support/folder.ts";
import { petstore } from "../support/petstore.ts";

/** A folder with a store of some 700 KB, and a backup of it. */
async function createStore(): Promise<string> {
  const cwd = createFolder();
  const store = openSqliteStore(join(cwd, "data/petstore.db"));
  await store.importAll({
    pets: Array.from({ length: 1_000 }, (_, n) => createPet({ id: BigInt(n), name: "x".repeat(600) })),
  });
  await store.backup(join(cwd, "backup.db"));
  await store.close();
  return cwd;
}

/** A command that must fail with one line, and leave no part of a copy behind. */
async function check(args: string, line: string, { cwd, by }: { cwd: string; by?: readonly string[] }): Promise<void> {
  const { code, stdout, stderr } = await petstore(args.split(" "), { cwd, ...(by && { by }) });
  for (const folder of readdirSync(cwd, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    chmodSync(join(cwd, folder.name), 0o700);
  }
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^petstore: .*\n$/);
  expect(stderr).toContain(line);
  const names = readdirSync(cwd, { recursive: true, encoding: "utf8" });
  expect(names.filter((name) => /\.(tmp|restore)$/.test(name))).toEqual([]);
}

describe.skipIf(process.platform === "win32")("on a disk that is full", () => {
  /** No file may come to have more than so many blocks of 512 bytes, as on a disk that is full. */
  const withBlocks = (count: number) => ["sh", "-c", `ulimit -f ${count}; exec "$0" "$@"`];

  it.for<[args: string, blocks: number, line: string]>([
    ["backup copy.db", 200, "cannot back up to copy.db: disk I/O error"],
    ["restore backup.db", 200, ".restore: disk I/O error"],
    ["import - --db small.db", 8, "small.db: disk I/O error"],
    ["keys create --plan free", 0, "data/petstore.db: disk I/O error"],
    ["serve --port 0 --ops-port 0", 0, "petstore.db.lock: disk I/O error"],
  ])("fails in one line: petstore %s", async ([args, blocks, line]) => {
    await check(args, line, { cwd: await createStore(), by: withBlocks(blocks) });
  });
});

/** What has root obey the modes of files, as all others do. */
const asOrdinaryUser =
  process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : ["env"];

const canBeOrdinary = spawnSync("sh", ["-c", `${asOrdinaryUser.join(" ")} true`]).status === 0;

describe.skipIf(!canBeOrdinary)("without the right to", () => {
  const unreadable = "cannot be opened; see that whoever runs this may read and write it, and its folder";
  const unwritable = "cannot be written; see that whoever runs this may write to it, and to its folder";

  it.for<[what: string, args: string, line: string, deny: (cwd: string) => void]>([
    [
      "read the store",
      "export",
      `data/petstore.db: ${unreadable}`,
      (cwd) => chmodSync(join(cwd, "data/petstore.db"), 0o000),
    ],
    [
      "read the store",
      "check",
      `data/petstore.db: ${unreadable}`,
      (cwd) => chmodSync(join(cwd, "data/petstore.db"), 0o000),
    ],
    [
      "write the store",
      "keys create --plan free",
      unwritable,
      (cwd) => chmodSync(join(cwd, "data/petstore.db"), 0o400),
    ],
    [
      "write the store",
      "serve --port 0 --ops-port 0",
      `data/petstore.db: ${unwritable}`,
      (cwd) => chmodSync(join(cwd, "data/petstore.db"), 0o400),
    ],
    [
      "see the folder",
      "check",
      "data/petstore.db: EACCES: permission denied",
      (cwd) => chmodSync(join(cwd, "data"), 0o000),
    ],
    [
      "write to the folder",
      "restore backup.db",
      "data/petstore.db.lock: EACCES: permission denied",
      (cwd) => chmodSync(join(cwd, "data"), 0o500),
    ],
    [
      "write to the folder",
      "serve --port 0",
      "data/petstore.db.lock: EACCES: permission denied",
      (cwd) => chmodSync(join(cwd, "data"), 0o500),
    ],
    [
      "read the backup",
      "restore backup.db",
      `backup.db: ${unreadable}`,
      (cwd) => chmodSync(join(cwd, "backup.db"), 0o000),
    ],
    [
      "write to its folder",
      "backup closed/copy.db",
      "cannot back up to closed/copy.db: permission denied",
      (cwd) => mkdirSync(join(cwd, "closed"), 0o500),
    ],
    [
      "write to its folder",
      "restore backup.db --db closed/a/b.db",
      "closed/a/b.db: EACCES: permission denied",
      (cwd) => mkdirSync(join(cwd, "closed"), 0o500),
    ],
  ])("%s: petstore %s", async ([, args, line, deny]) => {
    const cwd = await createStore();
    deny(cwd);
    await check(args, line, { cwd, by: asOrdinaryUser });
  });
});

describe("where something else stands", () => {
  it.for<[what: string, args: string, line: string, make: (cwd: string) => void]>([
    [
      "a text for the lock",
      "restore backup.db",
      "/data/petstore.db.lock: not a SQLite database\n",
      (cwd) => writeFileSync(join(cwd, "data/petstore.db.lock"), "x".repeat(5_000)),
    ],
    [
      "a folder for the lock",
      "serve --port 0",
      "/data/petstore.db.lock: not a file\n",
      (cwd) => mkdirSync(join(cwd, "data/petstore.db.lock")),
    ],
    [
      "a file for the copy's folder",
      "backup backup.db/copy.db",
      "cannot back up to backup.db/copy.db: not a directory\n",
      () => {},
    ],
    ["a file for the store's folder", "restore backup.db --db backup.db/a.db", "backup.db/a.db: EEXIST", () => {}],
    ["a folder for the backup", "restore folder", "folder: not a file\n", (cwd) => mkdirSync(join(cwd, "folder"))],
    [
      "a folder for the copy",
      "backup folder",
      "folder: exists already; name a new file\n",
      (cwd) => mkdirSync(join(cwd, "folder")),
    ],
    ["a device", "backup /dev/null", "/dev/null: exists already; name a new file\n", () => {}],
    ["a device", "restore /dev/null", "/dev/null: not a file\n", () => {}],
  ])("%s: petstore %s", async ([, args, line, make]) => {
    const cwd = await createStore();
    make(cwd);
    await check(args, line, { cwd });
  });
});
