import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { owner, startCluster } from "./cluster.ts";

/** A database of its own for a test. */
export interface TestDatabase {
  readonly url: string;
  remove(): Promise<void>;
}

/** Set by `global-setup.ts`: a folder that the files of one test run share. */
const runFolder = process.env.PETSTORE_TEST_POSTGRES ?? "";

/** The port of the run's cluster. The first test that needs it starts it. */
export async function clusterPort(): Promise<number> {
  const portFile = join(runFolder, "port");
  if (!existsSync(portFile) && tryToMake(join(runFolder, "starting"))) {
    const { port, pid, folder } = await startCluster();
    writeFileSync(join(runFolder, "cluster.json"), JSON.stringify({ pid, folder }));
    writeFileSync(portFile, String(port));
  }
  for (let tries = 0; !existsSync(portFile); tries += 1) {
    if (tries > 600) {
      throw new Error("the cluster has not started");
    }
    await setTimeout(50);
  }
  return Number(readFileSync(portFile, "utf8"));
}

function tryToMake(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

/** The URL of a database of the cluster. */
export function urlOf(port: number, database: string, parameters = ""): string {
  return `postgres://${owner}@127.0.0.1:${port}/${database}${parameters}`;
}

/** Runs statements in a database, one after the other. */
export async function runSql(url: string, ...statements: readonly string[]): Promise<pg.QueryResult[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const results: pg.QueryResult[] = [];
    for (const statement of statements) {
      results.push(await client.query(statement));
    }
    return results;
  } finally {
    await client.end();
  }
}

/** Makes an empty database. */
export async function createDatabase(): Promise<TestDatabase> {
  const port = await clusterPort();
  const admin = urlOf(port, "postgres");
  const name = `petstore_${randomBytes(6).toString("hex")}`;
  await runSql(admin, `CREATE DATABASE ${name}`);
  return {
    url: urlOf(port, name),
    remove: async () => {
      await runSql(admin, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** Databases that have been used and emptied. To make one takes longer than most tests. */
const emptied: TestDatabase[] = [];

/** As `createDatabase`, but the database may have an empty store, and is emptied for the next test. */
export async function borrowDatabase(): Promise<TestDatabase> {
  const database = emptied.pop() ?? (await createDatabase());
  return {
    url: database.url,
    remove: async () => {
      await runSql(database.url, emptyStore);
      emptied.push(database);
    },
  };
}

/** Leaves a store as a new one is: also with a lineage of its own. */
const emptyStore = `
  DO $$ BEGIN
    EXECUTE (SELECT 'TRUNCATE ' || string_agg(oid::regclass::text, ', ') || ' RESTART IDENTITY' FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname NOT IN ('head', 'petstore_schema'));
    UPDATE head SET revision = 0, hold_position = 0, lineage = substr(md5(random()::text), 1, 12);
  END $$`;

/** A database that is named at once, and made when it is needed. */
export interface ReservedDatabase {
  readonly url: string;
  make(): Promise<void>;
  /** Drops it at some time, whoever uses it. */
  drop(): void;
}

/** Names databases of the run's cluster. */
export async function reserveDatabases(): Promise<{ reserve(): ReservedDatabase }> {
  const port = await clusterPort();
  return { reserve: () => reserveDatabase(port) };
}

/** Names a database of the cluster at a port. */
export function reserveDatabase(port: number): ReservedDatabase {
  const admin = urlOf(port, "postgres");
  const name = `petstore_${randomBytes(6).toString("hex")}`;
  let made: Promise<unknown> | undefined;
  return {
    url: urlOf(port, name),
    async make() {
      made ??= runSql(admin, `CREATE DATABASE ${name}`);
      await made;
    },
    drop() {
      void made?.then(() => runSql(admin, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)).catch(() => {});
    },
  };
}
