import { closeSync, copyFileSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { DomainError } from "../../src/domain/errors.ts";
import { checkDatabase } from "../../src/storage/sqlite/maintenance/check.ts";
import { openSqliteStore, type SqliteStore } from "../../src/storage/sqlite/store.ts";
import { StoreFileError } from "../../src/storage/sqlite/store-file.ts";
import { createKey, createOrder, createPet, everything, hashOf } from "../storage/samples.ts";
import { createFolder } from "../support/folder.ts";
import { amount, isLong } from "../support/long.ts";
import { Random } from "../support/random.ts";
import { report } from "../support/report.ts";

const pageBytes = 4_096;
const damagesPerPage = amount(8, 400);

/** Other bytes, and other values, in each long run. */
const seed = isLong ? Date.now() : 1;

/**
 * The byte that tells which versions of SQLite may write the file. Where it asks for a later one, all can be read, and
 * the check has nothing to tell; but no server takes such a store.
 *
 * Source: https://sqlite.org/fileformat2.html#file_format_version_numbers
 */
const writeVersionAt = 18;

const ids = Array.from({ length: 60 }, (_, n) => BigInt(n));

/** A store that has a page of each table and index at least; closed, so that all of it is in its file. */
async function createStore(): Promise<string> {
  const file = join(createFolder(), "petstore.db");
  const store = openSqliteStore(file);
  const pets = ids.map((id) =>
    createPet({ id, name: "Zoë ".repeat(40), status: id % 2n === 0n ? "sold" : "pending", tags: ["small", "grey"] }),
  );
  await store.importAll(
    {
      pets,
      orders: ids.map((id) => createOrder({ id, petId: id, shipDateMs: 1_700_000_000_000 })),
    },
    0,
  );
  await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
  await store.close();
  return file;
}

/** Changes one byte of a file to any other value. */
function damage(file: string, at: number, random: Random): void {
  const descriptor = openSync(file, "r+");
  const byte = new Uint8Array(1);
  readSync(descriptor, byte, { position: at });
  writeSync(
    descriptor,
    byte.map((value) => value ^ (1 + random.below(255))),
    0,
    1,
    at,
  );
  closeSync(descriptor);
}

type Row = object;

const reads: readonly ((store: SqliteStore) => Promise<readonly Row[]>)[] = [
  (store) => store.listInventory(everything),
  (store) => store.listInventory({ ...everything, statuses: ["sold"] }),
  (store) => store.listOrders(everything),
  (store) => store.listOrders({ ...everything, statuses: ["placed"] }),
  async (store) => await Promise.all(ids.map((id) => store.getPet(id))),
];

/** What clients read; undefined in the place of what they are refused. */
async function readAll(file: string): Promise<(readonly Row[] | undefined)[]> {
  const store = openSqliteStore(file);
  const rows = await Promise.all(reads.map((read) => read(store).catch(refusal)));
  await store.close();
  return rows;
}

/**
 * Any error that is not the domain's is answered `INTERNAL`. A pet that is not found where its id is damaged is not
 * there.
 */
function refusal(reason: unknown): undefined {
  expect(reason instanceof DomainError ? ["UNAVAILABLE", "PET_NOT_FOUND"].includes(reason.code) : true).toBe(true);
}

/** What petstore's own rules, and nobody else, can tell from any other value. */
function ruledPart(row: Row): string {
  return JSON.stringify(row, (key, value) =>
    key === "status" || (typeof value === "object" && !Array.isArray(value))
      ? value
      : Array.isArray(value) || typeof value,
  );
}

it("finds damage or refuses what is damaged, but for values that somebody might have written", {
  timeout: amount(240_000, 580_000),
}, async () => {
  const beganMs = performance.now();
  const file = await createStore();
  const truth = (await readAll(file)).map((rows) => rows?.map(ruledPart));
  const known = new Set(truth.flat());
  const copy = join(createFolder(), "copy.db");
  const pages = statSync(file).size / pageBytes;
  const random = new Random(seed);
  const counts = { pages, damages: 0, found: 0, refused: 0 };
  for (let number = 0; number < pages * damagesPerPage; number++) {
    const at = Math.floor((number * pageBytes) / damagesPerPage + random.below(pageBytes / damagesPerPage));
    const where = `at ${at} of the damages by the seed ${seed}`;
    copyFileSync(file, copy);
    damage(copy, at, random);
    const isFound = await checkDatabase(copy, "full").then((faults) => faults.length > 0, isStoreFileError);
    const seen = await readAll(copy).catch((error) => {
      expect(isStoreFileError(error), `${where}: ${error}`).toBe(true);
      return truth.map(() => undefined);
    });
    const parts = seen.map((rows) => rows?.map(ruledPart));
    expect(
      parts.flat().filter((part) => part !== undefined && !known.has(part)),
      where,
    ).toEqual([]);
    if (!isFound && at !== writeVersionAt) {
      expect(parts, where).toEqual(truth);
    }
    counts.damages += 1;
    counts.found += isFound ? 1 : 0;
    counts.refused += seen.includes(undefined) ? 1 : 0;
  }
  expect(counts.found).toBeGreaterThan(0);
  expect(counts.refused).toBeGreaterThan(0);
  report("damaged bytes", { seed, ...counts, seconds: Math.round((performance.now() - beganMs) / 1_000) });
});

function isStoreFileError(error: unknown): boolean {
  return error instanceof StoreFileError;
}
