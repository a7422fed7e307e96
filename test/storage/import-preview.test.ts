import { existsSync, linkSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Imports } from "../../src/domain/catalog.ts";
import { previewImportInto } from "../../src/storage/sqlite/import.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";
import { createOrder, createPet } from "./samples.ts";

/** A store with the pets 1 to 4. */
async function createStore(): Promise<string> {
  const file = join(createFolder(), "petstore.db");
  const store = openSqliteStore(file);
  await store.importAll({ pets: [1n, 2n, 3n, 4n].map((id) => createPet({ id })) }, 0);
  await store.close();
  return file;
}

const ids = fc.bigInt(1n, 7n);

const imports: fc.Arbitrary<Imports> = fc.record({
  pets: fc.array(
    fc.oneof(
      ids.map((id) => createPet({ id })),
      fc.record({ id: ids, quantity: ids }),
    ),
    { maxLength: 5 },
  ),
  orders: fc.array(
    fc.oneof(fc.record({ id: ids, petId: ids }).map(createOrder), fc.record({ id: ids, complete: fc.boolean() })),
    { maxLength: 3 },
  ),
});

it("tells what the import then does, or throws, and changes nothing", async () => {
  const file = await createStore();
  const store = openSqliteStore(file);
  const before = await store.changeTokens();
  await fc.assert(
    fc.asyncProperty(imports, async (given) => {
      const [preview] = await Promise.allSettled([previewImportInto(file, given)]);
      expect(await store.changeTokens()).toEqual(before);
      const copy = join(createFolder(), "copy.db");
      await store.maintenance.backup(copy);
      const target = openSqliteStore(copy);
      const [outcome] = await Promise.allSettled([target.importAll(given, 0)]);
      await target.close();
      expect(preview).toEqual(outcome);
    }),
    { numRuns: 30 },
  );
  await store.close();
});

const onePet = { pets: [createPet({ id: 1n })] };
const oneCreated = { pets: { created: 1, replaced: 0, changed: 0 } };

it("makes no store where there is none", async () => {
  const folder = createFolder();
  expect(await previewImportInto(join(folder, "none", "petstore.db"), onePet)).toMatchObject(oneCreated);
  expect(existsSync(join(folder, "none"))).toBe(false);
});

it("leaves an empty file empty", async () => {
  const file = join(createFolder(), "petstore.db");
  writeFileSync(file, "");
  expect(await previewImportInto(file, onePet)).toMatchObject(oneCreated);
  expect(readFileSync(file)).toHaveLength(0);
});

it("leaves an older store at its version", async () => {
  const file = join(createFolder(), "petstore.db");
  const driver = new Sqlite(file);
  driver.exec(readFileSync(join(import.meta.dirname, "schemas/v1.sql"), "utf8"));
  driver.close();
  const before = readFileSync(file);
  expect(await previewImportInto(file, onePet)).toMatchObject(oneCreated);
  expect(readFileSync(file).equals(before)).toBe(true);
});

it("refuses a damaged store, and one with two names, as the import does", async () => {
  const folder = createFolder();
  const file = join(folder, "petstore.db");
  await openSqliteStore(file).close();
  linkSync(file, join(folder, "other.db"));
  await expect(previewImportInto(file, onePet)).rejects.toThrow("has 2 names");
  rmSync(join(folder, "other.db"));
  const driver = new Sqlite(file);
  driver.exec("DROP INDEX stock_by_status");
  driver.close();
  await expect(previewImportInto(file, onePet)).rejects.toThrow("the index stock_by_status is missing");
});

it("refuses what is no store", async () => {
  const file = join(createFolder(), "petstore.db");
  writeFileSync(file, "x".repeat(5_000));
  await expect(previewImportInto(file, onePet)).rejects.toThrow(`${file}: not a SQLite database`);
});

it("takes no store that cannot be reached for one that is missing", async () => {
  const file = join(createFolder(), "petstore.db");
  symlinkSync(file, file);
  await expect(previewImportInto(file, onePet)).rejects.toThrow(file);
  const other = join(createFolder(), "a-file");
  writeFileSync(other, "");
  await expect(previewImportInto(join(other, "petstore.db"), onePet)).rejects.toThrow("there is no such store");
});
