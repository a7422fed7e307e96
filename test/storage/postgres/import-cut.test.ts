import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { describeError } from "../../../src/cli/failure.ts";
import { Connection } from "../../../src/storage/postgres/connection/connection.ts";
import { parseDatabaseUrl } from "../../../src/storage/postgres/connection/database-url.ts";
import { openPostgresSource } from "../../../src/storage/postgres/copy.ts";
import { createFolder } from "../../support/folder.ts";
import { petstore } from "../../support/petstore.ts";
import { borrowDatabase, clusterPort, runSql } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { DatabaseProxy } from "../../support/postgres/proxy.ts";
import { createPet } from "../samples.ts";
import { countWaiting, lostBehindPooler, openBehindProxy } from "./behind-proxy.ts";

/** Megabytes of pets: more than what is on the way at once. */
function createPets(): string {
  const file = join(createFolder(), "pets.csv");
  const rows = Array.from({ length: 60_000 }, (_, id) => `${id},${"Rex".repeat(20)},dog,,,sold,5`);
  writeFileSync(file, ["id,name,category,photoUrls,tags,status,quantity", ...rows, ""].join("\n"));
  return file;
}

type Fault = (proxy: DatabaseProxy, url: string) => void;

const endConnections =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";

describe.skipIf(postgresPrograms === undefined)("an import over PostgreSQL", () => {
  it.each<[string, Fault]>([
    ["is cut", (proxy) => proxy.cut()],
    ["is ended by PostgreSQL", (_, url) => void runSql(url, endConnections)],
  ])("whose connection %s in the middle of the rows fails in one line", async (_, fail) => {
    const database = await borrowDatabase();
    const proxy = await DatabaseProxy.start(await clusterPort());
    onTestFinished(async () => {
      await proxy.close();
      await database.remove();
    });
    const url = new URL(database.url);
    url.port = String(proxy.port);
    let sentBytes = 0;
    proxy.decide = (bytes) => {
      const isBegun = sentBytes > 0 || bytes.includes("COPY sent_pets");
      const isFirstMegabyte = sentBytes < 1_000_000;
      sentBytes += isBegun ? bytes.length : 0;
      if (isFirstMegabyte && sentBytes >= 1_000_000) {
        setImmediate(() => fail(proxy, database.url));
      }
      return "pass";
    };
    const { code, stdout, stderr } = await petstore(["import", createPets(), "--database", url.href]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.replace(/^petstore: created a new store.*\n/, "")).toMatch(
      /^petstore: the store failed: (the connection was lost in the middle, and nothing has been changed: |terminating connection due to administrator command)[^\n]*\n$/,
    );
    expect((await runSql(database.url, "SELECT count(*)::int AS count FROM pets"))[0]?.rows).toEqual([{ count: 0 }]);
  });

  it.each([
    ["connection", undefined],
    ["pooler's connection", lostBehindPooler],
  ])("whose %s is lost during the commit says that it may be there", async (_, last) => {
    const { proxied, direct, proxy, url } = await openBehindProxy();
    proxy.decide = (bytes) => {
      if (!bytes.includes("COMMIT\0")) {
        return "pass";
      }
      void expect
        .poll(() => direct.getPet(3n))
        .toBeDefined()
        .then(() => proxy.cut(last && { last }));
      return "mute";
    };
    const line = await proxied.importAll({ pets: [createPet({ id: 3n })] }).then(() => "imported", describeError);
    expect(line).toMatch(
      /: the connection was lost at the very end, and the import is there as a whole or not at all; /,
    );
    expect(line).not.toMatch(/\n/);
    expect((await runSql(url, "SELECT id FROM pets WHERE id = 3"))[0]?.rowCount).toBe(1);
  });

  it("and a copy of the store that begins meanwhile do not keep each other from their work", async () => {
    const { direct, url } = await openBehindProxy();
    const writer = await Connection.open(parseDatabaseUrl(url));
    onTestFinished(() => writer.close());
    await writer.script("BEGIN; SELECT FROM head FOR UPDATE");
    const imported = direct.importAll({ pets: [createPet({ id: 3n, quantity: 5n })] });
    await expect.poll(() => countWaiting(url)).toBe(1);
    const opened = openPostgresSource(url);
    await expect.poll(() => countWaiting(url)).toBe(2);
    await writer.script("ROLLBACK");
    expect(await imported).toMatchObject({ pets: { created: 1 } });
    await using source = await opened;
    expect(await source.countRows()).toBeGreaterThan(3);
  });
});
