import { copyFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { runProgram } from "./project.ts";

/** A store that the service made. Each contender gets a copy. */
export interface DataSet {
  /** Its file, or the URL of its database. */
  readonly db: string;
  /** The pets that were imported. */
  readonly csv: string;
  /** The pets' ids, one a line, in the order in which the load updates them. */
  readonly idsFile: string;
  readonly petCount: number;
  /** The least id of a pet. */
  readonly firstId: number;
  /** A key whose limits no load reaches. */
  readonly key: string;
}

/** The licensed pets of Seattle, or other pets, where `PETSTORE_TEST_CSV` names their file. */
const city = process.env.PETSTORE_TEST_CSV ?? "";
const cityPets = 50_759;

/** The pets of a city; without their file, as many generated ones of the same shape. */
export function createCity(directory: string): Promise<DataSet> {
  return createDataSet(directory, "city", existsSync(city) ? city : writePets(directory, cityPets));
}

/** A shop with twenty pets. */
export function createShop(directory: string): Promise<DataSet> {
  return createDataSet(directory, "shop", writePets(directory, 20));
}

/** Copies a data set's store for one contender. */
export function copyStore({ db }: DataSet, target: string): string {
  copyFileSync(db, target);
  return target;
}

/** Makes a store of the same pets in a database, with a key of its own. */
export async function importAgain(data: DataSet, url: string): Promise<DataSet> {
  return { ...data, db: url, key: await importPets(data.csv, url) };
}

/** The flags that name a store to the service's commands. */
export function storeFlags(db: string): [flag: string, value: string] {
  return [isDatabase(db) ? "--database" : "--db", db];
}

/** Whether a store is in a database, and not in a file. */
export function isDatabase(db: string): boolean {
  return db.startsWith("postgres:");
}

async function createDataSet(directory: string, name: string, csv: string): Promise<DataSet> {
  const db = join(directory, `${name}.db`);
  const key = await importPets(csv, db);
  const ids = readIds(db);
  const idsFile = join(directory, `${name}.ids`);
  writeFileSync(idsFile, spread(ids).join("\n"));
  return { db, csv, idsFile, petCount: ids.length, firstId: ids[0] ?? NaN, key };
}

/** Returns a key whose limits no load reaches. */
async function importPets(csv: string, db: string): Promise<string> {
  await runProgram("src/main.ts", "import", csv, ...storeFlags(db));
  const quota = ["--plan", "enterprise", "--per-minute", "1000000000", "--per-day", "1000000000"];
  return JSON.parse(await runProgram("src/main.ts", "keys", "create", ...quota, "--json", ...storeFlags(db))).key;
}

function readIds(db: string): number[] {
  const connection = new Sqlite(db, { readonly: true });
  try {
    return connection.prepare<[], number>("SELECT id FROM pets ORDER BY id").pluck().all();
  } finally {
    connection.close();
  }
}

/** The same ids in an order in which neighbours are far apart, as in real use. */
function spread(ids: readonly number[]): number[] {
  // A prime, so it is coprime to every number of pets that is not a multiple of it.
  const stride = 7919;
  return ids.map((_id, index) => ids[(index * stride) % ids.length] ?? 0);
}

function writePets(directory: string, count: number): string {
  const file = join(directory, `${count}-pets.csv`);
  const rows = Array.from({ length: count }, (_, index) => {
    const status = ["available", "available", "available", "pending", "sold"][index % 5];
    return `${index + 1},Pet ${index + 1},${index % 3 === 0 ? "cat" : "dog"},,Domestic Shorthair;Mix,${status},${index % 50}`;
  });
  writeFileSync(file, ["id,name,category,photoUrls,tags,status,quantity", ...rows, ""].join("\n"));
  return file;
}
