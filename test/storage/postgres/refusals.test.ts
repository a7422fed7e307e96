import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseDatabaseUrl } from "../../../src/storage/postgres/connection/database-url.ts";
import { withConnection } from "../../../src/storage/postgres/database.ts";
import { previewImportInto } from "../../../src/storage/postgres/import.ts";
import { assertOwnSessions } from "../../../src/storage/postgres/servers.ts";
import { openPostgresStore } from "../../../src/storage/postgres/store.ts";
import { guarded, owner } from "../../support/postgres/cluster.ts";
import { clusterPort, createDatabase, runSql, urlOf } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { DatabaseProxy } from "../../support/postgres/proxy.ts";
import { createKey, createPet, hashOf } from "../samples.ts";

/** A database of this test's own. */
async function ownDatabase(...statements: readonly string[]): Promise<string> {
  const database = await createDatabase();
  const { url } = database;
  onTestFinished(() => database.remove());
  await runSql(url, ...statements);
  return url;
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

async function withSetting(setting: string): Promise<string> {
  const url = await ownDatabase();
  await runSql(url, `ALTER DATABASE ${nameOf(url)} SET ${setting}`);
  return url;
}

async function asGuarded(password: string): Promise<string> {
  const url = new URL(await ownDatabase());
  await runSql(
    urlOf(await clusterPort(), "postgres"),
    `DO $$ BEGIN CREATE ROLE ${guarded.user} LOGIN PASSWORD '${guarded.password}';
     EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
  );
  url.username = guarded.user;
  url.password = password;
  return url.href;
}

const refusals: [name: string, url: () => Promise<string>, message: RegExp][] = [
  ["loses updates", () => withSetting("synchronous_commit = off"), /has synchronous_commit=off, which loses updates/],
  ["takes no writes", () => withSetting("default_transaction_read_only = on"), /takes no writes/],
  ["is of another program", () => ownDatabase("CREATE TABLE invoices (id int)"), /has tables of another program/],
  ["is not there", async () => urlOf(await clusterPort(), "nobodys"), /there is no such database/],
  ["does not know the password", () => asGuarded("geheim"), /the user or the password is wrong/],
  ["asks for a password", () => asGuarded(""), /asks for a password, which the URL lacks/],
  ["lets the user make no tables", () => asGuarded(guarded.password), /permission denied for .*; let the user own/],
  ["is not reached", async () => `postgres://${owner}:geheim@127.0.0.1:1/petstore`, /cannot be reached/],
  ["is no PostgreSQL", async () => "mysql://root:geheim@127.0.0.1/petstore", /is not the URL of a PostgreSQL database/],
  ["is not named", async () => `postgres://${owner}:geheim@127.0.0.1`, /must be postgres:/],
  ["has other parameters", async () => `postgres://${owner}:geheim@127.0.0.1/x?ssl=1`, /has the parameter 'ssl'/],
  ["has an unknown sslmode", async () => `postgres://${owner}:geheim@127.0.0.1/x?sslmode=allow`, /sslmode must be/],
  [
    "speaks no TLS",
    async () => urlOf(await clusterPort(), "postgres", "?sslmode=verify-full"),
    /does not support SSL|cannot be reached/,
  ],
];

describe.skipIf(postgresPrograms === undefined)("a database is refused", () => {
  it.each(refusals)("that %s, in one line without its password", async (_, urlOfTest, message) => {
    const failure = await openPostgresStore(await urlOfTest()).catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: "DatabaseError" });
    const { message: line } = failure as Error;
    expect(line).toMatch(message);
    expect(line).not.toMatch(/\n|geheim/);
    expect(line).not.toContain(guarded.password);
  });

  it("that denies a right, in one line that says which, also to a store that is open", async () => {
    const url = await asGuarded(guarded.password);
    const owned = new URL(url);
    [owned.username, owned.password] = [owner, ""];
    await (await openPostgresStore(owned.href)).close();
    await runSql(
      owned.href,
      `REVOKE TEMP ON DATABASE ${nameOf(url)} FROM public`,
      `GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${guarded.user}`,
    );
    const store = await openPostgresStore(url);
    onTestFinished(() => store.close());
    const attempts = [
      () => store.createKey(createKey({ id: "key_a" }), hashOf("a")),
      () => store.importAll({ pets: [] }),
      () => previewImportInto(url, { pets: [] }),
      () => Array.fromAsync(store.exportPets()),
    ];
    await runSql(owned.href, `REVOKE SELECT ON pets FROM ${guarded.user}`);
    for (const attempt of attempts) {
      const failure = await attempt().catch((error: unknown) => error);
      expect(failure).toMatchObject({ name: "DatabaseError" });
      expect((failure as Error).message).toMatch(
        /^postgres:\S+: permission denied (for|to create) [^\n]*; let the user own the database, or grant what is missing$/,
      );
    }
  });

  it.each([["PREPARE one AS SELECT 1; PREPARE one AS SELECT 1"], ["EXECUTE other"], ["SELECT pg_backend_pid()"]])(
    "where a pooler shares its connections between sessions, as %s shows",
    async (sql) => {
      const address = parseDatabaseUrl(await ownDatabase());
      const work = withConnection(address, async (connection) => {
        await connection.script(sql);
        // One connection in place of two.
        await assertOwnSessions({ use: (use) => use(connection) }, address.shown);
      });
      await expect(work).rejects.toThrow(
        /^postgres:\S+: a pooler shares connections between sessions; let it pool sessions/,
      );
    },
  );

  it("that takes no writes, also by the preview of an import", async () => {
    const url = await withSetting("default_transaction_read_only = on");
    await expect(previewImportInto(url, { pets: [] })).rejects.toThrow(/^postgres:\S+: takes no writes/);
  });

  it("that was written by a newer version", async () => {
    const url = await ownDatabase();
    await (await openPostgresStore(url)).close();
    await runSql(url, "UPDATE petstore_schema SET version = version + 1");
    await expect(openPostgresStore(url)).rejects.toThrow(/written by a newer version of petstore/);
  });

  it("that accepts connections and never answers, within 12 s", async () => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    onTestFinished(() => void silent.close());
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as { port: number };
    const startedAt = performance.now();
    await expect(openPostgresStore(urlOf(port, "petstore"))).rejects.toThrow(
      "cannot be reached: the database has not answered in time",
    );
    expect(performance.now() - startedAt).toBeLessThan(12_000);
  });

  it.each([
    ["lets a connection in", "server_version_num"],
    ["says what it is", "petstore_schema"],
    ["may be migrated", "pg_advisory_xact_lock"],
  ])("that %s and then hangs, within 12 s", async (_, statement) => {
    const url = new URL(await ownDatabase());
    const proxy = await DatabaseProxy.start(Number(url.port));
    onTestFinished(() => proxy.close());
    proxy.decide = (bytes) => (bytes.includes(statement) ? "hold" : "pass");
    url.port = String(proxy.port);
    const startedAt = performance.now();
    await expect(openPostgresStore(url.href)).rejects.toThrow(
      "cannot be reached: the database has not answered in time",
    );
    expect(performance.now() - startedAt).toBeLessThan(12_000);
  });

  it.each(["Shop", "Pet-Store", "pet store"])("not for the name of its schema, %s", async (schema) => {
    const url = await ownDatabase(
      `CREATE SCHEMA "${schema}"`,
      "CREATE SCHEMA shop",
      "CREATE TABLE shop.invoices (id int)",
    );
    await runSql(url, `ALTER DATABASE ${nameOf(url)} SET search_path TO "${schema}"`);
    for (let start = 0; start < 2; start += 1) {
      await (await openPostgresStore(url)).close();
    }
    const [found] = await runSql(url, "SELECT schemaname FROM pg_tables WHERE tablename = 'petstore_schema'");
    expect(found?.rows).toEqual([{ schemaname: schema }]);
  });

  it("not for the views of an extension", async () => {
    const url = await ownDatabase("CREATE EXTENSION pg_stat_statements");
    await (await openPostgresStore(url)).close();
  });

  it("not by the preview of an import where the user may only read and make temporary tables", async () => {
    const url = await asGuarded(guarded.password);
    const owned = new URL(url);
    [owned.username, owned.password] = [owner, ""];
    await (await openPostgresStore(owned.href)).close();
    await runSql(owned.href, `GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${guarded.user}`);
    const { pets } = await previewImportInto(url, { pets: [createPet({ id: 1n })] });
    expect(pets).toMatchObject({ created: 1 });
  });

  it("by none of several servers that start at the same time: one of them makes the store", async () => {
    for (let round = 0; round < 5; round += 1) {
      const url = await ownDatabase();
      const stores = await Promise.all(Array.from({ length: 6 }, () => openPostgresStore(url)));
      const lineages = await Promise.all(stores.map(async (store) => (await store.historyBounds(0)).lineage));
      expect(new Set(lineages).size).toBe(1);
      await Promise.all(stores.map((store) => store.close()));
    }
  });
});
