import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createFolder } from "../../support/folder.ts";
import { petstore, startPetstore } from "../../support/petstore.ts";
import { createDatabase, type TestDatabase } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { freePort } from "../../support/redis-server.ts";

const password = "geheim";

const minutesFromNow = (timeMs: number) => Math.round((timeMs - Date.now()) / 60_000) + 0;

describe("--database", () => {
  it.each([
    [["--database", "mysql://root@db/x"], {}, "must be sqlite: and a file, or the URL of a PostgreSQL database"],
    [["--database", "sqlite:"], {}, "must be sqlite: and a file"],
    [["--database", `sqlite:postgres://x:${password}@127.0.0.1:1/y`], {}, "must be sqlite: and a file"],
    [["--database", `sqlite:PostgreSQL://x:${password}@127.0.0.1:1/y`], {}, "must be sqlite: and a file"],
    [["--database", "sqlite:a.db", "--db", "b.db"], {}, "--db is short for --database sqlite:FILE: give one of them"],
    [[], { PETSTORE_DATABASE: "sqlite:a.db", PETSTORE_DB: "b.db" }, "--db is short for --database"],
    [["--database", `postgres://x:${password}@127.0.0.1:1/y?a=1`], {}, "has the parameter 'a'"],
    [["--database", `postgres://x:${password}@127.0.0.1:1/y`], {}, "cannot be reached: connect ECONNREFUSED"],
  ])("refuses %j with %j in one line", async (flags, env, message) => {
    const { code, stderr } = await petstore(["keys", "list", ...flags], { env });
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
    expect(stderr.trimEnd()).not.toMatch(/\n|geheim/);
  });

  it.each([
    [["--database", "sqlite:a.db"], {}, "a.db", "--database"],
    [["--db", "b.db"], { PETSTORE_DATABASE: "sqlite:a.db" }, "b.db", "--db"],
    [["--database", "sqlite:a.db"], { PETSTORE_DB: "b.db" }, "a.db", "--database"],
    [[], { PETSTORE_DATABASE: `postgres://x:${password}@db/y` }, "postgres://********@db/y", "PETSTORE_DATABASE"],
    [[], {}, "data/petstore.db", null],
  ])("by %j and %j means %s", async (flags, env, value, place) => {
    const { stdout } = await petstore(["config", "--json", ...flags], { env });
    expect(JSON.parse(stdout).db).toMatchObject({ value, place });
    expect(stdout).not.toContain(password);
  });
});

describe.skipIf(postgresPrograms === undefined)("a command over PostgreSQL", () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
    return () => database.remove();
  });

  async function run(...args: readonly string[]) {
    return petstore([...args, "--database", database.url]);
  }

  /** Runs commands on a machine whose clock is ten minutes ahead of that of the database. */
  function onMachineAhead() {
    const clock = join(createFolder(), "clock.mjs");
    writeFileSync(clock, "const now = Date.now; Date.now = () => now() + 600_000;");
    const env = { NODE_OPTIONS: `--import=file://${clock}` };
    return (...args: readonly string[]) => petstore([...args, "--database", database.url], { env });
  }

  it("needs a store, which import, keys create and serve make", async () => {
    expect(await run("keys", "list")).toMatchObject({ code: 1, stderr: expect.stringContaining("no such store") });
    const file = join(createFolder(), "pets.csv");
    writeFileSync(file, "id,quantity\n7,1\n");
    for (const flags of [[], ["--dry-run"]]) {
      const refusal = expect.stringContaining("pets.csv:2: there is no pet 7, and a new one needs all of id,name");
      expect(await run("import", file, ...flags)).toMatchObject({ code: 1, stderr: refusal });
      expect(await run("keys", "list")).toMatchObject({ code: 1, stderr: expect.stringContaining("no such store") });
    }
    writeFileSync(file, "id,name,category,photoUrls,tags,status,quantity\n7,Rex,dog,a;b,,sold,-5\n");
    expect((await run("import", file, "--dry-run")).stdout).toBe("would import 1 pet: 1 created\n");
    expect(await run("import", file)).toMatchObject({
      stdout: "imported 1 pet: 1 created\n",
      stderr: expect.stringContaining("created a new store"),
    });
    expect((await run("import", file, "--dry-run")).stdout).toBe("would import 1 pet: 1 replaced\n");
    expect((await run("export")).stdout).toContain("7,Rex,dog,a;b,,sold,-5");
    expect((await run("history")).stdout).toContain("import");
    expect(await run("check")).toMatchObject({ code: 0, stdout: expect.stringMatching(/ is sound\n$/) });
  });

  it("goes by the clock of the database, not by that of its own machine", async () => {
    const runAhead = onMachineAhead();
    const { id } = JSON.parse(
      (await runAhead("keys", "create", "--plan", "free", "--expires-in", "1h", "--json")).stdout,
    );
    expect((await runAhead("keys", "rotate", id, "--grace", "1m", "--json")).code).toBe(0);
    const shown = JSON.parse((await run("keys", "show", id, "--json")).stdout);
    const times = [shown.createdAt, shown.expiresAt, shown.oldSecrets[0].expiresAt];
    expect(times.map((time) => minutesFromNow(Date.parse(time)))).toEqual([0, 60, 1]);
  });

  it("signs a test of a webhook by the clock of the database", async () => {
    const times: number[] = [];
    const receiver = createServer((message, response) => {
      void text(message).then((body) => {
        times.push(Number(message.headers["webhook-timestamp"]) * 1_000, Date.parse(JSON.parse(body).timestamp));
        response.writeHead(204).end();
      });
    }).listen(0, "127.0.0.1");
    onTestFinished(() => receiver.close().closeAllConnections());
    await once(receiver, "listening");
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const { id } = JSON.parse((await run("webhooks", "create", "--url", url, "--json")).stdout);
    expect(await onMachineAhead()("webhooks", "test", id, "--allow-private")).toMatchObject({ code: 0, stderr: "" });
    expect(times.map(minutesFromNow)).toEqual([0, 0]);
  });

  it.each(["backup", "restore"])("%s names PostgreSQL's own tools", async (command) => {
    const { code, stderr } = await run(command, join(createFolder(), "copy.db"));
    expect(code).toBe(1);
    expect(stderr).toMatch(/pg_dump and pg_restore.*point-in-time recovery\n$/);
  });

  it("serve --demo has a key, which a second demo leaves valid when it is refused", async () => {
    const args = ["serve", "--demo", "--port", "0", "--ops-port", "0", "--database", database.url];
    const first = startPetstore(args);
    onTestFinished(async () => void (await first.end("SIGTERM")));
    let line: string | undefined;
    do {
      line = await first.nextLine();
    } while (!line?.includes("curl"));
    const [, secret, url] = /Bearer (\S+)" (\S+)$/.exec(line) ?? [];
    expect(await petstore(args)).toMatchObject({ code: 1, stderr: expect.stringContaining("uses it already") });
    // A server hears of keys that others have changed within a second.
    await setTimeout(1_000);
    const { status } = await fetch(url ?? "", { headers: { authorization: `Bearer ${secret}` } });
    expect(status).toBe(200);
  });

  it("serve refuses to be a second server, and status names the first", async () => {
    const args = ["serve", "--port", "0", "--ops-port", "0", "--database", database.url];
    const first = startPetstore(args);
    onTestFinished(async () => void (await first.end("SIGTERM")));
    await first.nextLine();
    const opsUrl = /http:\S+/.exec((await first.nextLine()) ?? "")?.[0] ?? "";
    const second = await petstore(args);
    expect(second.code).toBe(1);
    const [, id] = /server (\S+) uses it already, and limits that are counted in memory/.exec(second.stderr) ?? [];
    const { servers } = JSON.parse((await petstore(["status", "--json", "--ops-url", opsUrl])).stdout);
    // The machine and the process are those of its log.
    expect(id).toMatch(new RegExp(`^${hostname()}/${first.pid}/[0-9a-f]{12}$`));
    expect(servers).toMatchObject([{ id, version: expect.any(String), self: true }]);
    expect((await petstore(["status", "--ops-url", opsUrl])).stdout).toMatch(
      new RegExp(`^server +${id}, \\S+, up \\d+s, this one$`, "m"),
    );
    for (const time of [servers[0].startedAt, servers[0].lastSeenAt]) {
      expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(60_000);
    }
    const listed = JSON.parse((await run("status", "--json")).stdout).servers;
    const { self: _self, ...others } = servers[0];
    expect(listed).toMatchObject([{ ...others, lastSeenAt: expect.any(String) }]);
    expect(Object.keys(listed[0])).toEqual(["id", "version", "startedAt", "lastSeenAt"]);
    expect((await run("status")).stdout).toMatch(new RegExp(`^ID .*\n${id} .* \\d+s ago\n$`));
  });

  it("status asks the operator's port that is given as a database is, or in a stronger way", async () => {
    const opsPort = String(await freePort());
    const noServer = { code: 1, stderr: expect.stringContaining(`no server answers at http://127.0.0.1:${opsPort}`) };
    expect(await run("status", "--ops-port", opsPort)).toMatchObject(noServer);
    expect(await run("status", "--ops-url", `http://127.0.0.1:${opsPort}`)).toMatchObject(noServer);
    const env = { PETSTORE_DATABASE: database.url };
    expect(await petstore(["status", "--ops-port", opsPort], { env })).toMatchObject(noServer);
    expect(await petstore(["status"], { env: { ...env, PETSTORE_OPS_PORT: opsPort } })).toMatchObject(noServer);
    expect(await petstore(["status"], { env })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^(ID|There)/),
    });
  });

  it("status names a database that has no store, and makes none", async () => {
    const empty = await createDatabase();
    onTestFinished(() => empty.remove());
    for (let tries = 0; tries < 2; tries++) {
      const { code, stderr } = await petstore(["status", "--database", empty.url]);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/^petstore: postgres:\/\/\S+: there is no such store\n$/),
      ]);
    }
  });
});
