import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { expectLimits, expectSuccess } from "../support/expectations.ts";
import { importFixture } from "../support/fixture.ts";
import { mintKey } from "../support/keys.ts";
import { petstore, projectRoot, type Running, startPetstore } from "../support/petstore.ts";
import { createDatabase, type TestDatabase } from "../support/postgres/databases.ts";
import { postgresPrograms } from "../support/postgres/programs.ts";
import { freePort, hasRedis, RedisServer } from "../support/redis-server.ts";

const readme = readFileSync(join(projectRoot, "README.md"), "utf8");
const section = /^## From one server to three\n(.*?)^## /ms.exec(readme)?.[1] ?? "";
const commands = (/^```sh\n(.*?)^```/ms.exec(section)?.[1] ?? "").trimEnd().split("\n");

it("the README has at most 200 lines", () => {
  expect(readme.split("\n").length - 1).toBeLessThanOrEqual(200);
});

describe.skipIf(postgresPrograms === undefined || !hasRedis)("the README's three servers", () => {
  let database: TestDatabase;
  let redis: RedisServer;
  const running: Running[] = [];
  const origins: string[] = [];

  /** The variables that the first line exports, with this test's store. */
  function exported(): Record<string, string> {
    const [, name = ""] = /^export (\w+)=postgres:\S+/.exec(commands[0] ?? "") ?? [];
    return { [name]: database.url };
  }

  /** The arguments of a command, with this test's store of limits and ports. */
  async function argumentsOf(command: string): Promise<string[]> {
    const own = command
      .replace(/redis:\S+/, redis.url)
      .replace(/--port \d+/, `--port ${await freePort()}`)
      .replace(/--ops-port \d+/, `--ops-port ${await freePort()}`);
    return own.split(" ").slice(2);
  }

  beforeAll(async () => {
    database = await createDatabase();
    await importFixture(database.url);
    redis = await RedisServer.start({ args: ["--appendonly", "yes"] });
    for (const command of commands.filter((line) => line.startsWith("npx petstore serve "))) {
      const server = startPetstore(await argumentsOf(command), { env: exported() });
      running.push(server);
      origins.push(/http:\S+/.exec((await server.nextLine()) ?? "")?.[0] ?? server.log());
    }
  });

  afterAll(async () => {
    await Promise.all(running.map((server) => server.end("SIGTERM")));
    await redis?.stop();
    await database?.remove();
  });

  it("are one: an update by one is read from the others, and they count together", async () => {
    expect(origins).toHaveLength(3);
    const { key } = await mintKey(database.url, []);
    const clients = origins.map((origin) => rest.open({ origin }));
    const [first, ...others] = clients as [(typeof clients)[number], ...typeof clients];
    const update = await first.call("updateInventory", { petId: 7n, update: { quantity: 77n } }, { key });
    const remaining = [expectLimits(update.headers).remaining];
    for (const other of others) {
      const outcome = await other.call("getInventory", { petId: 7n }, { key });
      expect(expectSuccess(outcome).item?.quantity).toBe(77n);
      remaining.push(expectLimits(outcome.headers).remaining);
    }
    expect(remaining).toEqual([999, 998, 997]);
    for (const client of clients) {
      client.close();
    }
  });

  it("are listed by the last command", async () => {
    const { stdout } = await petstore(await argumentsOf(commands.at(-1) ?? ""), { env: exported() });
    expect(stdout).toMatch(/^ID +VERSION +STARTED +LAST SEEN\n(\S+ +\d+\.\d+\.\d+ +.*Z +\d+s ago\n){3}$/);
  });
});
