import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isPostgresUrl } from "../../../src/domain/store.ts";
import { fillStore, withStoreAt } from "../../storage/copy/filled-store.ts";
import { createPet } from "../../storage/samples.ts";
import { createFolder, folderOf } from "../../support/folder.ts";
import { mintKey } from "../../support/keys.ts";
import { type CommandResult, petstore, startPetstore } from "../../support/petstore.ts";
import { petstoreHere } from "../../support/petstore-here.ts";
import { owner } from "../../support/postgres/cluster.ts";
import { clusterPort, createDatabase, runSql } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { DatabaseProxy } from "../../support/postgres/proxy.ts";

const createFilled = folderOf((folder) =>
  withStoreAt(join(folder, "petstore.db"), (store) => fillStore(store, Date.now())),
);

/** Creates a file with a store that has rows of every table. */
async function createFile(): Promise<string> {
  return join(await createFilled(), "petstore.db");
}

async function createUrl(): Promise<string> {
  const database = await createDatabase();
  onTestFinished(() => database.remove());
  return database.url;
}

function toUrl(location: string): string {
  return isPostgresUrl(location) ? location : `sqlite:${location}`;
}

/** Runs `petstore copy`, in this process unless a test is about its end, too. */
function copy(from: string, to: string, run = petstoreHere): Promise<CommandResult> {
  return run(["copy", "--from", toUrl(from), "--to", toUrl(to)]);
}

/** Expects one line on stderr, without any password. */
function expectRefused({ code, stdout, stderr }: CommandResult, message: string | RegExp, exitCode = 1): void {
  expect({ code, stdout }).toEqual({ code: exitCode, stdout: "" });
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/^petstore: [^\n]+\n$/);
  expect(stderr).not.toMatch(/geheim/);
}

/** How many tables a database has. */
async function countTables(url: string): Promise<number> {
  const [result] = await runSql(url, "SELECT count(*)::int AS count FROM pg_tables WHERE schemaname = 'public'");
  return result?.rows[0].count;
}

/** Starts a server on a store, and returns what calls it with a key. */
async function serve(location: string, key: string) {
  const server = startPetstore(["serve", "--port", "0", "--ops-port", "0", "--database", toUrl(location)]);
  const origin = /http:\S+/.exec((await server.nextLine()) ?? "")?.[0] ?? "";
  await server.nextLine();
  const call = async (method: string, path: string, headers: Record<string, string> = {}, body?: object) => {
    const answer = await fetch(`${origin}/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, headers: answer.headers, body: await answer.text() };
  };
  return { call, end: () => server.end("SIGTERM"), log: () => server.log() };
}

const summary = "9 pets, 2 orders, 311 changes, 3 holds, 3 keys, 2 webhooks; both are the same";

describe.skipIf(postgresPrograms === undefined)("petstore copy", () => {
  it("moves a store to PostgreSQL and back, and exports are the same", async () => {
    const [file, url] = [await createFile(), await createUrl()];
    const masked = url.replace(owner, "********");
    expect(await copy(file, url, petstore)).toEqual({
      code: 0,
      stdout: `copied sqlite:${file} to ${masked}: ${summary}\n`,
      stderr: "",
    });
    const back = join(createFolder(), "new", "petstore.db");
    expect(await copy(url, back, petstore)).toEqual({
      code: 0,
      stdout: `copied ${masked} to sqlite:${back}: ${summary}\n`,
      stderr: "",
    });
    for (const flags of [[], ["--orders"]]) {
      const [before, there, after] = await Promise.all(
        [file, url, back].map((each) => petstoreHere(["export", ...flags, "--database", toUrl(each)])),
      );
      expect(there).toEqual(before);
      expect(after).toEqual(before);
    }
    expect(await petstoreHere(["check", "--db", back])).toMatchObject({ code: 0 });
  });

  it("keeps versions, cursors and idempotency keys valid", async () => {
    const [file, url] = [await createFile(), await createUrl()];
    const { key } = await mintKey(file, []);
    const before = await serve(file, key);
    const retried = { "Idempotency-Key": "sale-17" };
    const first = await before.call("POST", "/inventory/2:adjust", retried, { delta: -1 });
    expect(first.status).toBe(200);
    const cursor = (await before.call("GET", "/inventory?pageSize=1")).headers.get("X-Inventory-Cursor") ?? "";
    const later = await before.call("PATCH", "/inventory/3", {}, { quantity: 4 });
    const entry = await before.call("GET", "/inventory/3");
    const changes = `/inventory/changes?after=${cursor}`;
    const followed = await before.call("GET", changes);
    expect(followed.body).toContain('"after":4');
    expect(await before.end()).toBe(0);

    expect((await copy(file, url)).code).toBe(0);
    const after = await serve(url, key);
    onTestFinished(async () => void (await after.end()));
    const replayed = await after.call("POST", "/inventory/2:adjust", retried, { delta: -1 });
    expect(replayed).toMatchObject({ status: 200, body: first.body });
    expect(replayed.headers.get("Idempotency-Replayed")).toBe("true");
    const entryThere = await after.call("GET", "/inventory/3");
    expect(entryThere.body).toBe(entry.body);
    expect(entryThere.headers.get("ETag")).toBe(later.headers.get("ETag"));
    expect((await after.call("GET", changes)).body).toBe(followed.body);
    const guardedWrite = { "If-Match": later.headers.get("ETag") ?? "" };
    expect((await after.call("PATCH", "/inventory/3", guardedWrite, { quantity: 5 })).status).toBe(200);
    expect((await after.call("PATCH", "/inventory/3", guardedWrite, { quantity: 6 })).status).toBe(412);
  });
});

describe("petstore copy", () => {
  it("takes its stores from variables, too, and refuses a wrong one without its password", async () => {
    const [from, to] = [await createFile(), join(createFolder(), "b.db")];
    const env = { PETSTORE_COPY_FROM: toUrl(from), PETSTORE_COPY_TO: toUrl(to), PETSTORE_DATABASE: "sqlite:c.db" };
    expect(await petstore(["copy"], { env })).toMatchObject({ code: 0, stderr: "" });
    const wrong = { ...env, PETSTORE_COPY_TO: "mysql://x:geheim@db/y" };
    expectRefused(await petstoreHere(["copy"], { env: wrong }), "from env 'PETSTORE_COPY_TO' is invalid", 2);
  });
});

describe("petstore copy refuses, in one line", () => {
  it.each<[string[], string]>([
    [["--to", "sqlite:b.db"], "required option '--from <url>' not specified"],
    [["--from", "sqlite:a.db"], "required option '--to <url>' not specified"],
    [["--from", "a.db", "--to", "sqlite:b.db"], "It must be sqlite: and a file, or the URL of a PostgreSQL database"],
    [["--from", "sqlite:a.db", "--to", "mysql://x:geheim@db/y"], "argument 'mysql://********@db/y' is invalid"],
    [["--from", "sqlite:a.db", "--to", "sqlite:b.db", "--db", "c.db"], "leave out --db and --database"],
  ])("%j", async (flags, message) => {
    expectRefused(await petstoreHere(["copy", ...flags], { cwd: createFolder() }), message, 2);
  });

  it("a source that is missing, and makes nothing", async () => {
    const folder = createFolder();
    expectRefused(await copy(join(folder, "a.db"), join(folder, "b.db")), "a.db: there is no such store");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("a target that becomes full, and leaves nothing", async () => {
    const folder = createFolder();
    const pets = Array.from({ length: 20_000 }, (_, n) => createPet({ id: BigInt(n) }));
    const from = join(createFolder(), "petstore.db");
    await withStoreAt(from, (store) => store.importAll({ pets }, 0));
    const to = join(folder, "b.db");
    const by = ["sh", "-c", `ulimit -f 1000; exec "$0" "$@"`];
    const full = await petstore(["copy", "--from", toUrl(from), "--to", toUrl(to)], { by });
    expectRefused(full, /b\.db: (database or disk is full|disk I\/O error)/);
    expect(readdirSync(folder)).toEqual(["b.db.lock", "b.db.start.lock"]);
  });

  it("a target whose lock cannot be made, as on a disk that is full from the start, and leaves no file", async () => {
    const [from, folder] = [await createFile(), createFolder()];
    mkdirSync(join(folder, "b.db.lock"));
    expectRefused(await copy(from, join(folder, "b.db")), /b\.db\.lock: not a file/);
    expect(readdirSync(folder)).toEqual(["b.db.lock", "b.db.start.lock"]);
  });
});

/** A database behind a proxy, which calls back when a client sends a statement. */
async function createWatchedUrl(statement: string, onSent: (proxy: DatabaseProxy) => "pass" | "hold") {
  const direct = await createUrl();
  const proxy = await DatabaseProxy.start(await clusterPort());
  onTestFinished(() => proxy.close());
  proxy.decide = (bytes) => (bytes.includes(statement) ? onSent(proxy) : "pass");
  const url = new URL(direct);
  url.port = String(proxy.port);
  return { direct, url: url.href };
}

describe.skipIf(postgresPrograms === undefined)("a copy that ends half-way leaves the target as it was:", () => {
  it.each<[string, NodeJS.Signals, number | NodeJS.Signals]>([
    ["ended", "SIGINT", 130],
    ["killed", "SIGKILL", "SIGKILL"],
  ])("%s on the way to PostgreSQL", async (_, signal, exit) => {
    const file = await createFile();
    const sent = Promise.withResolvers<DatabaseProxy>();
    const { direct, url } = await createWatchedUrl("COPY holds", (proxy) => {
      sent.resolve(proxy);
      return signal === "SIGKILL" ? "hold" : "pass";
    });
    const command = startPetstore(["copy", "--from", toUrl(file), "--to", url]);
    const proxy = await sent.promise;
    expect(await command.end(signal)).toBe(exit);
    // As the end of the process does, where nothing is held back.
    proxy.cut();
    expect(command.log()).toBe(signal === "SIGINT" ? "petstore: ended by SIGINT, with nothing changed\n" : "");
    expect(await countTables(direct)).toBe(0);
    await expect.poll(async () => (await copy(file, direct)).code, { timeout: 20_000 }).toBe(0);
  });

  it.each<[string, NodeJS.Signals, number | NodeJS.Signals]>([
    ["ended", "SIGINT", 130],
    ["killed", "SIGKILL", "SIGKILL"],
  ])("%s on the way to a file", async (_, signal, exit) => {
    const sent = Promise.withResolvers<void>();
    const { direct, url } = await createWatchedUrl("DECLARE copied_holds", () => {
      sent.resolve();
      return signal === "SIGKILL" ? "hold" : "pass";
    });
    await withStoreAt(direct, (store) => fillStore(store, Date.now()));
    const to = join(createFolder(), "petstore.db");
    const command = startPetstore(["copy", "--from", url, "--to", toUrl(to)]);
    await sent.promise;
    expect(await command.end(signal)).toBe(exit);
    expect(existsSync(to)).toBe(signal === "SIGKILL");
    await expect.poll(async () => (await copy(direct, to)).code, { timeout: 20_000 }).toBe(0);
    expect((await petstoreHere(["check", "--db", to])).code).toBe(0);
  });

  it("cut off from PostgreSQL, on either side", async () => {
    const cut = (proxy: DatabaseProxy) => {
      setImmediate(() => proxy.cut());
      return "hold" as const;
    };
    const file = await createFile();
    const target = await createWatchedUrl("COPY holds", cut);
    expectRefused(await copy(file, target.url, petstore), /the connection was lost, and nothing has been copied: /);
    expect(await countTables(target.direct)).toBe(0);
    const source = await createWatchedUrl("DECLARE copied_holds", cut);
    expect((await copy(file, source.direct)).code).toBe(0);
    const to = join(createFolder(), "petstore.db");
    expectRefused(await copy(source.url, to), "the connection was lost, and nothing has been copied: ");
    expect(existsSync(to)).toBe(false);
  });

  it("cut off in the commit, where nobody knows whether it is there", async () => {
    const [file, target] = [
      await createFile(),
      await createWatchedUrl("COMMIT", (proxy) => {
        setImmediate(() => proxy.cut());
        return "hold";
      }),
    ];
    expectRefused(await copy(file, target.url), "the copy is there as a whole or not at all; run it again");
  });
});

describe("the origin of a copy", () => {
  it("stays as it is", async () => {
    const file = await createFile();
    const content = readFileSync(file);
    expect((await copy(file, join(createFolder(), "b.db"))).code).toBe(0);
    expect(readFileSync(file)).toEqual(content);
  });

  it.skipIf(postgresPrograms === undefined)(
    "takes no server and no write meanwhile, and nor does the copy",
    async () => {
      const file = await createFile();
      const sent = Promise.withResolvers<void>();
      const { direct, url } = await createWatchedUrl("COPY holds", () => {
        sent.resolve();
        return "hold";
      });
      const command = startPetstore(["copy", "--from", toUrl(file), "--to", url]);
      onTestFinished(async () => void (await command.end("SIGKILL")));
      await sent.promise;
      const tries = [
        [["keys", "create", "--plan", "pro", "--db", file], "database is locked"],
        [["serve", "--port", "0", "--ops-port", "0", "--db", file], `already served by process ${command.pid}`],
        [["keys", "create", "--plan", "pro", "--database", direct], "another process has locked the store"],
      ] as const;
      await Promise.all(tries.map(async ([args, message]) => expectRefused(await petstore(args), message)));
    },
  );
});
