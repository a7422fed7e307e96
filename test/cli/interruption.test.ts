import { execFileSync } from "node:child_process";
import { constants, readdirSync, writeFileSync } from "node:fs";
import { type FileHandle, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createPet } from "../storage/samples.ts";
import { until } from "../support/deadline.ts";
import { createFolder, folderOf } from "../support/folder.ts";
import { type Running, startPetstore } from "../support/petstore.ts";

/** Creates a folder with a store of some 60 MB, whose copy takes a while, and a backup of it. */
const createStore = folderOf(async (folder) => {
  const store = openSqliteStore(join(folder, "data/petstore.db"));
  const name = "x".repeat(30_000);
  await store.importAll({ pets: Array.from({ length: 2_000 }, (_, n) => createPet({ id: BigInt(n), name })) }, 0);
  await store.maintenance.backup(join(folder, "backup.db"));
  await store.close();
});

function namesIn(cwd: string): string[] {
  return readdirSync(cwd, { recursive: true, encoding: "utf8" });
}

it.for<[args: string, signal: NodeJS.Signals, code: number, leaving: string]>([
  // It may have migrated the store.
  ["backup copy.db", "SIGINT", 130, "no backup made"],
  ["backup copy.db", "SIGTERM", 143, "no backup made"],
  ["restore backup.db", "SIGINT", 130, "nothing changed"],
  ["restore backup.db", "SIGHUP", 129, "nothing changed"],
])("leaves nothing half-done: petstore %s, ended by %s", async ([args, signal, code, leaving]) => {
  const cwd = await createStore();
  const command = startPetstore(args.split(" "), { cwd });
  await until(async () => namesIn(cwd).some((name) => /\.(tmp|restore)$/.test(name)), 20_000);
  expect(await command.end(signal)).toBe(code);
  expect(command.log()).toBe(`petstore: ended by ${signal}, with ${leaving}\n`);
  expect(
    namesIn(cwd)
      .filter((name) => !name.endsWith(".lock"))
      .sort(),
  ).toEqual(["backup.db", "data", "data/petstore.db"]);
});

it.for<[signal: NodeJS.Signals, code: number]>([
  ["SIGINT", 130],
  ["SIGTERM", 143],
])("imports nothing when an import that waits for input is ended by %s", async ([signal, code]) => {
  const cwd = createFolder();
  const command = startPetstore(["import", "-", "--format", "csv"], { cwd });
  // More than a pipe holds.
  await command.write(`id,name,category,photoUrls,tags,status,quantity\n${"\n".repeat(400_000)}`);
  expect(await command.end(signal)).toBe(code);
  expect(command.log()).toBe(`petstore: ended by ${signal}, with nothing imported\n`);
  expect(namesIn(cwd)).toEqual([]);
});

describe.skipIf(process.platform === "win32")("an import from named pipes", () => {
  /** Starts an import of `pets.csv`. Opens this pipe for writing, which waits until the import has opened it. */
  async function startImport(cwd: string, ...args: string[]): Promise<[command: Running, pets: FileHandle]> {
    execFileSync("mkfifo", ["pets.csv", "orders.csv"], { cwd });
    const command = startPetstore(["import", "pets.csv", ...args], { cwd });
    return [command, await open(join(cwd, "pets.csv"), "w")];
  }

  it("is ended by a signal while a pipe has no writer", async () => {
    const cwd = createFolder();
    const [command, pets] = await startImport(cwd, "--orders", "orders.csv");
    expect(await command.end("SIGTERM")).toBe("SIGTERM");
    await pets.close();
    expect(namesIn(cwd).sort()).toEqual(["orders.csv", "pets.csv"]);
  });

  it.for<[signal: NodeJS.Signals, code: number]>([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ])("imports nothing when it is ended by %s while a writer is silent", async ([signal, code]) => {
    const cwd = createFolder();
    const [command, pets] = await startImport(cwd);
    // More than a pipe holds.
    await pets.writeFile(`id,name,category,photoUrls,tags,status,quantity\n${"\n".repeat(400_000)}`);
    const emptied = readFile(join(cwd, "pets.csv"), { flag: constants.O_RDONLY | constants.O_NONBLOCK });
    await expect(emptied).rejects.toThrow("EAGAIN");
    expect(await command.end(signal)).toBe(code);
    await pets.close();
    expect(command.log()).toBe(`petstore: ended by ${signal}, with nothing imported\n`);
    expect(namesIn(cwd).sort()).toEqual(["orders.csv", "pets.csv"]);
  });
});

it("does not say that nothing has changed when an import ends that has made its store", async () => {
  const cwd = createFolder();
  const rows = Array.from({ length: 100_000 }, (_, id) => `${id},Rex,dog,,,available,1\n`);
  writeFileSync(join(cwd, "pets.csv"), `id,name,category,photoUrls,tags,status,quantity\n${rows.join("")}`);
  const command = startPetstore(["import", "pets.csv"], { cwd });
  await until(async () => command.log() !== "", 60_000);
  expect(await command.end("SIGINT")).toBe(130);
  expect(command.log()).toBe(
    "petstore: created a new store, data/petstore.db\npetstore: ended by SIGINT, with nothing imported\n",
  );
  const store = openSqliteStore(join(cwd, "data/petstore.db"), { ifMissing: "refuse" });
  expect(await store.countPets()).toBe(0);
  await store.close();
});
