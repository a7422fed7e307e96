import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { Connection } from "../../src/storage/sqlite/connection.ts";
import { checkDatabase } from "../../src/storage/sqlite/maintenance/check.ts";
import { migrate, schemaVersion } from "../../src/storage/sqlite/migrations.ts";
import { acquireServerLock } from "../../src/storage/sqlite/server-lock.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";
import { everything } from "./samples.ts";

const versions = Array.from({ length: schemaVersion }, (_, index) => index + 1);

const dumpOf = (version: number) => join(import.meta.dirname, "schemas", `v${version}.sql`);

/** Makes a store as a version of the schema had it, and returns its file. */
function createStoreOf(version: number): string {
  const file = join(createFolder(), "petstore.db");
  const driver = new Sqlite(file);
  driver.exec(readFileSync(dumpOf(version), "utf8"));
  driver.close();
  return file;
}

function schemaOf(file: string): unknown[] {
  const connection = new Connection(file);
  const rows = connection.all("SELECT type, name, sql FROM sqlite_schema ORDER BY name");
  connection.close();
  return rows;
}

describe.each(versions)("a store of version %i of the schema", (version) => {
  it("is kept for this test", () => {
    expect(existsSync(dumpOf(version))).toBe(true);
  });

  it("is sound before it is migrated", async () => {
    expect(await checkDatabase(createStoreOf(version), "full")).toEqual([]);
  });

  it("is opened with all that it holds", async () => {
    const file = createStoreOf(version);
    const store = openSqliteStore(file);
    expect(await store.listInventory(everything)).toEqual([
      { petId: -5n, quantity: 9_223_372_036_854_775_807n, status: "sold" },
      { petId: 7n, quantity: -1n, status: "available" },
    ]);
    expect(await store.getPet(-5n)).toMatchObject({
      name: "Rex",
      photoUrls: ["https://pets.example/a.jpg"],
      tags: ["Mix", "Zoë"],
    });
    expect(await store.listOrders(everything)).toMatchObject([{ id: 1n, petId: 7n, shipDateMs: 1_780_000_000_000 }]);
    expect(await store.listKeys()).toMatchObject([
      { id: "key_a", customQuota: { perMinute: 5, perDay: 3 }, unbans: 2, lastUsedAtMs: 1_700_000_000_007 },
      { id: "key_b", customQuota: undefined, revokedAtMs: 1_700_000_000_002 },
    ]);
    expect(await store.findKey(Buffer.alloc(32, 0xa0))).toMatchObject({ endsAtMs: 1_750_000_000_000 });
    expect(await store.loadUsage("key_a")).toMatchObject({ ban: { step: 4, endsAtMs: 1_700_000_000_006 }, unbans: 2 });
    expect((await store.listUsage()).map(({ keyId }) => keyId)).toEqual(["key_a"]);
    expect(await store.maintenance.lastBackup()).toEqual(
      version < 3 ? undefined : { takenAtMs: 1_700_000_000_009, bytes: 40_960 },
    );
    await store.close();
    expect(await checkDatabase(file, "full")).toEqual([]);
  });

  it("has the history that it had, and a lineage", async () => {
    const store = openSqliteStore(createStoreOf(version));
    const { lineage, ...bounds } = await store.historyBounds(0);
    const { changes } = await store.listChanges({ after: 0n, petIds: [], newestFirst: false, limit: 10 });
    const holds = await store.listHolds(
      { petId: undefined, states: [], before: undefined, limit: 10 },
      1_700_000_000_020,
    );
    await store.close();
    if (version < 5) {
      expect([bounds, changes, holds]).toEqual([{ head: 0n, oldest: 1n }, [], []]);
      expect(lineage).toMatch(/^[0-9a-f]{12}$/);
      return;
    }
    expect([lineage, bounds]).toEqual(["a0b1c2d3e4f5", { head: 3n, oldest: 2n }]);
    expect(changes).toMatchObject([
      { revision: 2n, petId: 7n, before: 5n, after: 3n, kind: "adjust", reason: "sale", reference: "order 17" },
      { revision: 3n, petId: 7n, before: 3n, after: -1n, kind: "import", keyId: undefined },
    ]);
    expect(holds).toMatchObject([
      { id: "hold_b", state: "released", quantity: 1n },
      { id: "hold_a", state: "held", quantity: 4n, reference: "cart 5", expiresAtMs: 4_100_000_000_000 },
    ]);
  });

  it("has the webhooks that it had", async () => {
    const store = openSqliteStore(createStoreOf(version));
    const webhooks = await store.listWebhooks();
    const attempts = await store.listAttempts("whk_a", 10);
    await store.close();
    if (version < 6) {
      expect([webhooks, attempts]).toEqual([[], []]);
      return;
    }
    expect(webhooks).toMatchObject([
      {
        id: "whk_a",
        filter: { petIds: [7n], crossing: 5n },
        paused: { reason: "operator", atMs: 1_700_000_000_035 },
        formerSecret: { secret: "whsec_b", endsAtMs: 1_700_000_000_040 },
        progress: { position: 1n, deliveringUpTo: 2n, failures: 3, nextAttemptAtMs: 1_700_000_000_032 },
      },
    ]);
    expect(attempts).toMatchObject([{ deliveryId: "msg_1", status: 500, fault: "it answered 500" }]);
  });

  it("comes to have the schema of a new one", async () => {
    const file = createStoreOf(version);
    await openSqliteStore(file).close();
    const fresh = join(createFolder(), "petstore.db");
    await openSqliteStore(fresh).close();
    expect(schemaOf(file)).toEqual(schemaOf(fresh));
  });
});

/** More pets than are moved at once. */
const petCount = 50_000;

/** Makes a store of the version before pets and stock were apart, with many pets. */
function createLargeStore(): string {
  const file = createStoreOf(4);
  const driver = new Sqlite(file);
  driver.exec(
    `INSERT INTO pets WITH RECURSIVE n (id) AS (VALUES (100) UNION ALL SELECT id + 1 FROM n LIMIT ${petCount - 2})
     SELECT id, 'Pet ' || id, 'dogs', '[]', '[]', 'sold', -id FROM n`,
  );
  driver.close();
  return file;
}

/** What a store holds, as the version that has written it reads it. */
function contentOf(file: string): unknown[] {
  const driver = new Sqlite(file);
  const content = [
    driver.pragma("user_version", { simple: true }),
    driver.prepare("SELECT count(*), sum(id), sum(length(name)), sum(quantity) FROM pets").get(),
    driver.pragma("integrity_check", { simple: true }),
  ];
  driver.close();
  return content;
}

describe("a migration", () => {
  it("moves pets and stock part by part, and tells how far it is", async () => {
    const file = createLargeStore();
    const before = statSync(file).size;
    const reports: [number, number][] = [];
    const store = openSqliteStore(file, { migrating: (done, total) => reports.push([done, total]) });
    expect(reports).toEqual([0, 20_000, 40_000, petCount].map((done) => [done, petCount]));
    expect(await store.countPets()).toBe(petCount);
    const items = await store.listInventory(everything);
    expect(items.slice(2).every(({ petId, quantity }) => quantity === -petId)).toBe(true);
    expect(items).toHaveLength(petCount);
    await store.close();
    expect(await checkDatabase(file, "full")).toEqual([]);
    expect(statSync(file).size).toBeLessThan(1.6 * before);
  });

  it("tells nothing where there is nothing to migrate", async () => {
    const file = join(createFolder(), "petstore.db");
    const migrating = () => expect.unreachable();
    await openSqliteStore(file, { migrating }).close();
    await openSqliteStore(file, { migrating }).close();
  });

  it("that is killed half-way has changed nothing, and can be made again", async () => {
    const file = createLargeStore();
    const before = contentOf(file);
    const module = join(import.meta.dirname, "../../src/storage/sqlite/store.ts");
    const script = `
      import { openSqliteStore } from ${JSON.stringify(module)};
      openSqliteStore(${JSON.stringify(file)}, {
        migrating: (done) => done >= 40_000 && process.kill(process.pid, "SIGKILL"),
      });`;
    const { signal } = spawnSync(process.execPath, ["--input-type=module", "--eval", script]);
    expect(signal).toBe("SIGKILL");
    expect(contentOf(file)).toEqual(before);
    const store = openSqliteStore(file);
    expect(await store.countPets()).toBe(petCount);
    await store.close();
  });

  it("for which there is no room has changed nothing", () => {
    const file = createLargeStore();
    const before = contentOf(file);
    const connection = new Connection(file);
    connection.pragma(`max_page_count = ${Number(connection.pragma("page_count")) + 20}`);
    expect(() => migrate(connection)).toThrow("full");
    connection.close();
    expect(contentOf(file)).toEqual(before);
  });

  it("is not made of what a server serves, which could not go on", async () => {
    const file = createStoreOf(4);
    const lock = acquireServerLock(file);
    const before = contentOf(file);
    expect(() => openSqliteStore(file)).toThrow(
      `${file}: process ${process.pid} serves it with an older version of petstore; use that one, or end the server`,
    );
    expect(contentOf(file)).toEqual(before);
    await openSqliteStore(file, { lock }).close();
    lock.release();
    expect(await checkDatabase(file, "full")).toEqual([]);
  });
});
