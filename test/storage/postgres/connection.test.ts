import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Connection } from "../../../src/storage/postgres/connection/connection.ts";
import { parseDatabaseUrl } from "../../../src/storage/postgres/connection/database-url.ts";
import { clusterPort, createDatabase, runSql, urlOf } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";

async function openConnection(): Promise<Connection> {
  const connection = await Connection.open(parseDatabaseUrl(urlOf(await clusterPort(), "postgres")));
  onTestFinished(() => connection.close());
  return connection;
}

describe.skipIf(postgresPrograms === undefined)("a connection to PostgreSQL", () => {
  it("is cut at the deadline of its work, also where that has passed already, and warns of nothing", async () => {
    const warned = vi.fn<(warning: Error) => void>();
    process.on("warning", warned);
    onTestFinished(() => void process.off("warning", warned));
    for (const ms of [50, -50]) {
      const connection = await openConnection();
      const work = connection.within(performance.now() + ms, () => connection.query("SELECT pg_sleep(60)"));
      await expect(work).rejects.toThrow("the database has not answered in time");
      expect(connection.isLost).toBe(true);
    }
    await setImmediate();
    expect(warned).not.toHaveBeenCalled();
  });

  it("stays when its work ends in time", async () => {
    const connection = await openConnection();
    const work = connection.within(performance.now() + 60_000, () => connection.query("SELECT 1 AS one"));
    expect(await work).toEqual([{ one: 1 }]);
    expect(connection.isLost).toBe(false);
  });

  it.each([
    ["statement_timeout", "1ms", "0"],
    ["idle_session_timeout", "1s", "0"],
    ["synchronous_commit", "off", "on"],
    ["synchronous_commit", "local", "local"],
    ["synchronous_commit", "remote_apply", "remote_apply"],
  ])("does not depend on what the database sets: %s = %s", async (setting, ofDatabase, ofSession) => {
    const database = await createDatabase();
    onTestFinished(() => database.remove());
    const name = new URL(database.url).pathname.slice(1);
    await runSql(database.url, `ALTER DATABASE ${name} SET ${setting} = '${ofDatabase}'`);
    const connection = await Connection.open(parseDatabaseUrl(database.url));
    onTestFinished(() => connection.close());
    expect(await connection.query(`SHOW ${setting}`)).toEqual([{ [setting]: ofSession }]);
  });
});
