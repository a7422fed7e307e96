import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { expect, it, onTestFinished, vi } from "vitest";
import { recordBackup } from "../../../src/cli/commands/maintenance.ts";
import { storeUnavailable } from "../../../src/domain/errors.ts";
import { folderOf } from "../../support/folder.ts";
import { petstore, startPetstore } from "../../support/petstore.ts";
import { petstoreHere, petstoreHereOrThere } from "../../support/petstore-here.ts";

const pet = (quantity: number) =>
  `{"id":7,"name":"R","category":"","photoUrls":[],"tags":[],"status":"sold","quantity":${quantity}}`;

/** Creates a folder with a store whose only pet has the quantity 2, and a backup in which it has 1. */
const createStore = folderOf(async (cwd) => {
  await petstoreHere(["import", "-"], { cwd, input: pet(1) });
  await petstore(["backup", "backup.db"], { cwd });
  await petstoreHere(["import", "-"], { cwd, input: pet(2) });
});

function tamper(file: string, sql: string): void {
  new Sqlite(file).exec(sql).close();
}

it("backs up the whole store, and replaces no file", async () => {
  const cwd = await createStore();
  const { code, stdout } = await petstore(["backup", "copy.db"], { cwd });
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^backed up data\/petstore\.db to copy\.db \(\d+\.\d KiB\)\n$/),
  });
  const { stdout: exported } = await petstoreHere(["export", "--db", "copy.db", "--format", "jsonl"], { cwd });
  expect(JSON.parse(exported)).toMatchObject({ id: 7, quantity: 2 });
  const before = readFileSync(join(cwd, "copy.db"));
  expect((await petstore(["backup", "copy.db"], { cwd })).stderr).toBe(
    "petstore: copy.db: exists already; name a new file\n",
  );
  expect(readFileSync(join(cwd, "copy.db")).equals(before)).toBe(true);
});

it("refuses to back up to a missing folder", async () => {
  const cwd = await createStore();
  expect(await petstore(["backup", "no/copy.db"], { cwd })).toEqual({
    code: 1,
    stdout: "",
    stderr: "petstore: cannot back up to no/copy.db: no such file or directory\n",
  });
});

it("restores a backup, and keeps the former store", async () => {
  const cwd = await createStore();
  expect(await petstore(["restore", "backup.db"], { cwd })).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^restored data\/petstore\.db from backup\.db; the former store is \S*\/data\/petstore\.db\.before-restore\n$/,
    ),
    stderr: "",
  });
  const exported = (await petstoreHere(["export", "--format", "jsonl"], { cwd })).stdout;
  expect(JSON.parse(exported)).toMatchObject({ id: 7, quantity: 1 });
  expect(existsSync(join(cwd, "data/petstore.db.before-restore"))).toBe(true);
});

it("restores nothing while a server runs", async () => {
  const cwd = await createStore();
  const server = startPetstore(["serve", "--port", "0", "--ops-port", "0", "--log-level", "silent"], { cwd });
  onTestFinished(async () => void (await server.end("SIGKILL")));
  await server.nextLine();
  expect(await petstoreHere(["restore", "backup.db"], { cwd })).toEqual({
    code: 1,
    stdout: "",
    stderr: `petstore: data/petstore.db: already served by process ${server.pid}\n`,
  });
  expect((await petstoreHere(["check"], { cwd })).stdout).toBe("data/petstore.db is sound\n");
});

it.for<[args: string, stderr: string]>([
  ["restore none.db", "none.db: there is no such store"],
  ["restore backup.db", "backup.db: written by a newer version of petstore; use that one"],
  ["check --db backup.db", "backup.db: written by a newer version of petstore; use that one"],
  ["serve --db backup.db", "backup.db: written by a newer version of petstore; use that one"],
  ["keys list --db backup.db", "backup.db: written by a newer version of petstore; use that one"],
  ["check --db none.db", "none.db: there is no such store"],
  ...["check", "export", "keys list", "backup copy.db"].map((command): [string, string] => [
    `${command} --db data/empty.db`,
    "data/empty.db: empty, and no store yet",
  ]),
])("refuses an unusable file in one line: petstore %s", async ([args, line]) => {
  const cwd = await createStore();
  tamper(join(cwd, "backup.db"), "PRAGMA user_version = 99");
  writeFileSync(join(cwd, "data/empty.db"), "");
  const before = readdirSync(join(cwd, "data")).filter((name) => !name.endsWith(".lock"));
  expect(await petstoreHereOrThere(args.split(" "), { cwd })).toEqual({
    code: 1,
    stdout: "",
    stderr: `petstore: ${line}\n`,
  });
  expect(readdirSync(join(cwd, "data")).filter((name) => !name.endsWith(".lock"))).toEqual(before);
});

it.for([[], ["--quick"]])("says whether the store is sound: petstore check %s", async (flags) => {
  const cwd = await createStore();
  expect(await petstoreHere(["check", ...flags], { cwd })).toEqual({
    code: 0,
    stdout: "data/petstore.db is sound\n",
    stderr: "",
  });
  tamper(join(cwd, "data/petstore.db"), "UPDATE pets SET tags = '1'; DROP INDEX orders_by_status");
  expect(await petstoreHere(["check", ...flags], { cwd })).toEqual({
    code: 1,
    stdout: "the index orders_by_status is missing\npet 7: its photoUrls and tags must be lists of texts\n",
    stderr: "petstore: data/petstore.db has 2 faults\n",
  });
});

it("warns when the store cannot record its backup", async () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const store = { recordBackup: () => Promise.reject(storeUnavailable(new Error("database or disk is full"))) };
  await recordBackup(store, { takenAtMs: 1_700_000_000_000, bytes: 40_960 });
  expect(write.mock.calls).toEqual([
    [
      "petstore: warning: the backup is complete, but the store could not record it: the store failed: database or disk is full\n",
    ],
  ]);
  write.mockRestore();
});
