import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempDisposableSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createPet } from "../storage/samples.ts";
import { createFolder, folderOf } from "../support/folder.ts";
import { petstore } from "../support/petstore.ts";
import { petstoreHere, petstoreHereOrThere } from "../support/petstore-here.ts";

/** Creates a folder with a store of some 700 KB, and a backup of it. */
const createStore = folderOf(async (folder) => {
  const store = openSqliteStore(join(folder, "data/petstore.db"));
  const pets = Array.from({ length: 1_000 }, (_, n) => createPet({ id: BigInt(n), name: "x".repeat(600) }));
  await store.importAll({ pets }, 0);
  await store.maintenance.backup(join(folder, "backup.db"));
  await store.close();
});

/** A command that must fail, and its failure. */
interface Failure {
  readonly args: string;
  /** Part of its only line on stderr. */
  readonly line: string;
  /** Changes the folder before; nothing by default. */
  readonly prepare?: Prepare | undefined;
  /** A program with its first arguments, which runs the command. */
  readonly by?: readonly string[];
}

type Prepare = (cwd: string) => void;

/** An obstacle, the command, and its failure. */
type Row = readonly [what: string, args: string, line: string, prepare?: Prepare];

/** Expects that a command fails with one line, and leaves no part of a copy behind. */
async function check({ args, line, prepare, by }: Failure): Promise<void> {
  const cwd = await createStore();
  prepare?.(cwd);
  const words = args.split(" ");
  const run = by === undefined ? petstoreHereOrThere(words, { cwd }) : petstore(words, { cwd, by });
  const { code, stdout, stderr } = await run;
  for (const folder of readdirSync(cwd, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    chmodSync(join(cwd, folder.name), 0o700);
  }
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^petstore: .*\n$/);
  expect(stderr).toContain(line);
  const names = readdirSync(cwd, { recursive: true, encoding: "utf8" });
  expect(names.filter((name) => /\.(tmp|restore)$/.test(name))).toEqual([]);
}

/** Changes the mode of a file or a folder. */
function allow(path: string, mode: number): Prepare {
  return (cwd) => chmodSync(join(cwd, path), mode);
}

function createFolderAt(path: string, mode?: number): Prepare {
  return (cwd) => mkdirSync(join(cwd, path), mode);
}

describe.skipIf(process.platform === "win32")("on a disk that is full", () => {
  /** Limits the size of files to a number of blocks of 512 bytes, as on a full disk. */
  const withBlocks = (count: number) => ["sh", "-c", `ulimit -f ${count}; exec "$0" "$@"`];

  it.for<[args: string, line: string, blocks: number]>([
    ["backup copy.db", "cannot back up to copy.db: disk I/O error", 200],
    ["restore backup.db", ".restore: disk I/O error", 200],
    ["import - --db small.db", "small.db: disk I/O error", 8],
    ["keys create --plan free", "data/petstore.db: disk I/O error", 0],
    ["serve --port 0 --ops-port 0", "petstore.db.start.lock: disk I/O error", 0],
  ])("fails in one line: petstore %s", async ([args, line, blocks]) => {
    await check({ args, line, by: withBlocks(blocks) });
  });

  it.for(["export", "export --format jsonl", "history --last 1000 --json"])(
    "does not take a part of its output for all: petstore %s",
    async (line) => {
      const args = line.split(" ");
      const cwd = await createStore();
      const { stdout } = await petstoreHere(args, { cwd });
      const blocks = Math.floor((Buffer.byteLength(stdout) - 1) / 512);
      const by = ["sh", "-c", `ulimit -f ${blocks}; exec "$0" "$@" >output`];

      const { code, stderr } = await petstore(args, { cwd, by });

      expect({ code, stderr }).toEqual({ code: 1, stderr: "petstore: cannot write to stdout: file too large\n" });
    },
  );
});

/** Makes root obey the modes of files, as other users do. */
const asOrdinaryUser =
  process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : ["env"];

const canBeOrdinary = spawnSync("sh", ["-c", `${asOrdinaryUser.join(" ")} true`]).status === 0;

describe.skipIf(!canBeOrdinary)("without the right to", () => {
  const unreadable =
    "cannot be opened; the user that runs petstore must be able to read and write the file and its folder";
  const unwritable = "cannot be written; the user that runs petstore must be able to write the file and its folder";
  const denied =
    "permission denied; the user that runs petstore must be able to read and write the file and its folder";
  const store = "data/petstore.db";

  it.for<Row>([
    ["read the store", "export", `${store}: ${unreadable}`, allow(store, 0o000)],
    ["read the store", "check", `${store}: ${unreadable}`, allow(store, 0o000)],
    ["write the store", "keys create --plan free", unwritable, allow(store, 0o400)],
    ["write the store", "serve --port 0 --ops-port 0", `${store}: ${unwritable}`, allow(store, 0o400)],
    ["see the folder", "export", `${store}: ${denied}`, allow("data", 0o000)],
    ["see the folder", "check", `${store}: ${denied}`, allow("data", 0o000)],
    ["write to the folder", "restore backup.db", `${store}.start.lock: ${denied}`, allow("data", 0o500)],
    ["write to the folder", "serve --port 0", `${store}.start.lock: ${denied}`, allow("data", 0o500)],
    ["read the backup", "restore backup.db", `backup.db: ${unreadable}`, allow("backup.db", 0o000)],
    [
      "write to its folder",
      "backup closed/copy.db",
      "cannot back up to closed/copy.db: permission denied",
      createFolderAt("closed", 0o500),
    ],
    [
      "write to its folder",
      "restore backup.db --db closed/a/b.db",
      `closed/a/b.db: ${denied}`,
      createFolderAt("closed", 0o500),
    ],
  ])("%s: petstore %s", async ([, args, line, prepare]) => {
    await check({ args, line, prepare, by: asOrdinaryUser });
  });
});

const mountReadOnly = 'mount --bind data data && mount -o remount,ro,bind data && exec "$0" "$@"';

/** Runs a command where the folder `data` is on read-only media. */
const withReadOnlyData = ["unshare", "--map-root-user", "--mount", "sh", "-c", mountReadOnly];

function canMount(): boolean {
  using folder = mkdtempDisposableSync(join(tmpdir(), "petstore-mount-"));
  mkdirSync(join(folder.path, "data"));
  const [program = "", ...args] = withReadOnlyData;
  return spawnSync(program, [...args, "true"], { cwd: folder.path }).status === 0;
}

describe.skipIf(!canMount())("on read-only media (skipped where nothing can be mounted)", () => {
  it.for(["export", "check", "keys create --plan free", "serve --port 0 --ops-port 0", "backup copy.db"])(
    "a store is refused with what to do: petstore %s",
    async (args) => {
      const line = ": on read-only media, and a store needs files beside it that can be written; copy it, ";
      await check({ args, line, by: withReadOnlyData });
    },
  );
});

describe.skipIf(process.platform !== "linux")("a file that cannot be read on", () => {
  // Nothing is mapped at the start of a process's memory.
  const prepare: Prepare = (cwd) => symlinkSync("/proc/self/mem", join(cwd, "pets.csv"));

  it.for(["import pets.csv", "import --orders pets.csv"])("is named: petstore %s", async (args) => {
    await check({ args, line: "petstore: cannot read pets.csv: i/o error\n", prepare });
  });
});

describe.skipIf(process.platform !== "linux")("when a new secret cannot be written to stdout", () => {
  const onFullDisk = ">/dev/full";
  // A pipe that nobody reads any more.
  const toNobody = "3<>pipe >pipe 3<&-";

  it.for<[args: string, output: string, replacement: RegExp]>([
    ["keys create --plan free", onFullDisk, /petstore keys rotate key_\w{16}/],
    ["keys create --plan free --json", onFullDisk, /petstore keys rotate key_\w{16}/],
    ["keys create --plan free --json", toNobody, /petstore keys rotate key_\w{16}/],
    ["keys rotate KEY", onFullDisk, /petstore keys rotate key_\w{16}/],
    ["webhooks create --url https://example.com/", onFullDisk, /petstore webhooks rotate-secret whk_\w{16}/],
    ["webhooks rotate-secret WEBHOOK", onFullDisk, /petstore webhooks rotate-secret whk_\w{16}/],
    ["webhooks rotate-secret WEBHOOK", toNobody, /petstore webhooks rotate-secret whk_\w{16}/],
  ])("names the command that makes another: petstore %s %s", async ([args, output, replacement]) => {
    const cwd = createFolder();
    execFileSync("mkfifo", ["pipe"], { cwd });
    const json = async (line: string) =>
      JSON.parse((await petstoreHere([...line.split(" "), "--json"], { cwd })).stdout) as { readonly id: string };
    const key = await json("keys create --plan free");
    const webhook = await json("webhooks create --url https://example.com/");
    const given = args.replace("KEY", key.id).replace("WEBHOOK", webhook.id).split(" ");

    const { code, stderr } = await petstore(given, { cwd, by: ["sh", "-c", `exec "$0" "$@" ${output}`] });

    expect(code).toBe(1);
    const [command = ""] = replacement.exec(stderr) ?? [];
    expect(stderr).toContain(`petstore: the secret is lost. '${command}' makes another.\n`);
    expect((await petstoreHere(command.split(" ").slice(1), { cwd })).code).toBe(0);
  });
});

describe.skipIf(process.platform !== "linux")("where nothing can be made", () => {
  it.for<Row>([
    ["below /proc", "keys create --plan free --db /proc/none/petstore.db", "/proc/none/petstore.db: ENOENT: "],
    ["below /proc", "import - --db /proc/none/a/petstore.db", "/proc/none/a/petstore.db: ENOENT: "],
    ["below /proc", "serve --port 0 --ops-port 0 --db /proc/none/petstore.db", "/proc/none/petstore.db: ENOENT: "],
    ["below /proc", "restore backup.db --db /proc/none/petstore.db", "/proc/none/petstore.db: ENOENT: "],
    ["in /proc", "keys create --plan free --db /proc/petstore.db", "/proc/petstore.db: ENOENT: "],
    ["in a device", "keys create --plan free --db /dev/null", "/dev/null: not a file\n"],
    ["in a folder", "serve --port 0 --ops-port 0 --db data", "data: not a file\n"],
    ["under a folder's name", "keys create --plan free --db none/", "none/: EISDIR: "],
  ])("%s: petstore %s", async ([, args, line]) => {
    await check({ args, line });
  });
});

describe("in place of a file", () => {
  const lock = "data/petstore.db.lock";
  const isThere = "exists already; name a new file\n";

  it.for<Row>([
    [
      "a text for the lock",
      "restore backup.db",
      `/${lock}: not a SQLite database\n`,
      (cwd) => writeFileSync(join(cwd, lock), "x".repeat(5_000)),
    ],
    ["a folder for the lock", "serve --port 0", `/${lock}: not a file\n`, createFolderAt(lock)],
    [
      "a file for the copy's folder",
      "backup backup.db/copy.db",
      "cannot back up to backup.db/copy.db: not a directory\n",
    ],
    [
      "a file for the store's folder",
      "restore backup.db --db backup.db/a.db",
      "backup.db/a.db: a file stands where its folder should be; name another path\n",
    ],
    ["a folder for the backup", "restore folder", "folder: not a file\n", createFolderAt("folder")],
    ["a folder for the copy", "backup folder", `folder: ${isThere}`, createFolderAt("folder")],
    ["a device", "backup /dev/null", `/dev/null: ${isThere}`],
    ["a device", "restore /dev/null", "/dev/null: not a file\n"],
  ])("%s: petstore %s", async ([, args, line, prepare]) => {
    await check({ args, line, prepare });
  });
});
