import { describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "../../../src/storage/postgres/connection/connection.ts";
import { parseDatabaseUrl } from "../../../src/storage/postgres/connection/database-url.ts";
import { hasOutdated, listChanges } from "../../../src/storage/postgres/history.ts";
import { listInventory } from "../../../src/storage/postgres/lists.ts";
import { openPostgresStore } from "../../../src/storage/postgres/store.ts";
import { readWorkingSet } from "../../../src/storage/postgres/writer/round-trips.ts";
import { createHold } from "../../../src/storage/postgres/writer/stock-writes.ts";
import { borrowDatabase, runSql } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { createContext, createPet, hashOf } from "../samples.ts";

/** A node of a plan that PostgreSQL has run. */
interface PlanNode {
  readonly "Node Type": string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** How many rows the scans of tables have read. */
function rowsRead({ Plans = [], ...node }: PlanNode): number {
  const isOfTable = /^(Index|Seq|Bitmap Heap)/.test(node["Node Type"]);
  const rows = node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0);
  const own = isOfTable ? rows * node["Actual Loops"] : 0;
  return own + Plans.reduce((sum, plan) => sum + rowsRead(plan), 0);
}

/** A store with 100 pets, and a connection to it that counts the rows that its queries read. */
async function openCounted() {
  const database = await borrowDatabase();
  const store = await openPostgresStore(database.url);
  const connection = await Connection.open(parseDatabaseUrl(database.url));
  onTestFinished(async () => {
    await connection.close();
    await store.close();
    await database.remove();
  });
  await store.importAll({ pets: petIds.map((id) => createPet({ id, quantity: 100_000n })) }, 0);
  let count = 0;
  const query = connection.query.bind(connection);
  connection.query = async <Row>(sql: string, ...values: Parameters<typeof query>[1][]) => {
    const [plan] = await query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
      ...values,
    );
    count += rowsRead((plan as { "QUERY PLAN": [{ Plan: PlanNode }] })["QUERY PLAN"][0].Plan);
    return query<Row>(sql, ...values);
  };
  return { url: database.url, connection, rowsRead: () => count };
}

const petIds = Array.from({ length: 100 }, (_, index) => BigInt(index + 1));

/** A search for the changes of a pet that changes once in 30,000 changes. */
const ofRarePet = { after: 0n, petIds: [100n], limit: 100 };

/** How many rows scans of whole tables have read that housekeeping looks at. */
async function countScanned(connection: Connection): Promise<number> {
  await connection.script("SELECT pg_stat_force_next_flush()");
  const [row] = await connection.query<{ scanned: bigint }>(
    `SELECT sum(seq_tup_read)::bigint AS scanned FROM pg_stat_user_tables
     WHERE relname IN ('holds', 'idempotency_records')`,
  );
  return Number(row?.scanned);
}

describe.skipIf(postgresPrograms === undefined)("over PostgreSQL", () => {
  it.each([
    ["that cross a count", 5n, 100],
    ["of all kinds", undefined, 1_000],
  ])("a search for changes of 100 pets %s reads as much as one of all pets", async (_name, crossing, limit) => {
    const counted = await openCounted();
    await runSql(
      counted.url,
      `INSERT INTO changes (revision, pet_id, before, after, kind, occurred_at_ms)
       SELECT number, number % 100 + 1, 9, 8, 'set', 1 FROM generate_series(101, 60000) AS number`,
      `UPDATE head SET revision = 60000`,
      `ANALYZE changes`,
    );
    const query = { after: 0n, petIds, crossing, newestFirst: false, limit };
    const { searchedTo } = await listChanges(counted.connection, query);
    expect(searchedTo).toBeGreaterThanOrEqual(100n);
    expect(counted.rowsRead()).toBeLessThan(12_000);
  });

  it.each<[string, (connection: Connection) => Promise<unknown>]>([
    ["the oldest changes", (connection) => listChanges(connection, { ...ofRarePet, newestFirst: false })],
    ["the newest changes", (connection) => listChanges(connection, { ...ofRarePet, newestFirst: true })],
    [
      "the stock at a revision",
      (connection) => listInventory(connection, { statuses: [], after: 99n, limit: 1, asOf: 30_000n }),
    ],
  ])("a search for %s of a pet that seldom changes reads no changes of other pets", async (_name, search) => {
    const counted = await openCounted();
    await runSql(
      counted.url,
      `INSERT INTO changes (revision, pet_id, before, after, kind, reference, occurred_at_ms)
       SELECT number, CASE WHEN number % 30000 = 0 THEN 100 ELSE number % 19 + 1 END, 9, 8, 'set', repeat('r', 100), 1
       FROM generate_series(101, 60000) AS number`,
      `DELETE FROM changes WHERE revision BETWEEN 20 AND 99`,
      `UPDATE stock SET revision = 60000 WHERE pet_id = 100`,
      `UPDATE head SET revision = 60000`,
      `ANALYZE changes`,
    );
    await search(counted.connection);
    expect(counted.rowsRead()).toBeLessThan(500);
  });

  it("a look for outdated rows reads no table, whatever values PostgreSQL has planned it for", async () => {
    const { url } = await openCounted();
    const connection = await Connection.open(parseDatabaseUrl(url));
    onTestFinished(() => connection.close());
    await runSql(
      url,
      `INSERT INTO holds (position, id, pet_id, quantity, state, created_at_ms, expires_at_ms, ended_at_ms, key_id)
       SELECT number, 'hold_' || number, 1, 1, CASE number % 2 WHEN 0 THEN 'held' ELSE 'released' END, 0, 2000,
         CASE number % 2 WHEN 1 THEN 2000 END, 'key_a'
       FROM generate_series(1, 20000) AS number`,
      `INSERT INTO idempotency_records (key_id, idempotency_key, fingerprint, result, created_at_ms)
       SELECT 'key_a', number, '', '', 2000 FROM generate_series(1, 20000) AS number`,
      "ANALYZE holds, idempotency_records",
    );
    await connection.script("SET plan_cache_mode = force_generic_plan");
    const scannedBefore = await countScanned(connection);
    expect(await hasOutdated(connection, 0, 1_000)).toBe(false);
    expect((await countScanned(connection)) - scannedBefore).toBe(0);
  });

  it("a write adds up a pet's expired holds once", async () => {
    const counted = await openCounted();
    await runSql(
      counted.url,
      `INSERT INTO holds (position, id, pet_id, quantity, state, created_at_ms, expires_at_ms, key_id)
       SELECT number, 'hold_' || number, 1, 1, 'held', 0, number, 'key_a' FROM generate_series(1, 2000) AS number`,
      `UPDATE stock SET held = 2000 WHERE pet_id = 1`,
      `ANALYZE holds`,
    );
    const request = { holdId: "hold_a", petId: 1n, quantity: 1n, ttlMs: 1_000, reference: undefined };
    const set = await readWorkingSet(counted.connection, [createHold(request, createContext())], 3_000);
    expect(set.overdueOf(1n)).toMatchObject({ rest: 1_500n });
    expect(counted.rowsRead()).toBeLessThan(5_000);
  });

  it("reads for users that wait keep neither change tokens nor look-ups of keys waiting", async () => {
    const database = await borrowDatabase();
    const store = await openPostgresStore(database.url);
    const other = await Connection.open(parseDatabaseUrl(database.url));
    onTestFinished(async () => {
      await other.close();
      await store.close();
      await database.remove();
    });
    await other.script("BEGIN; LOCK TABLE stock");
    let answered = 0;
    const reads = petIds.map((id) => store.getEntry(id).catch(() => (answered += 1)));
    expect(await store.changeTokens()).toMatchObject({ stock: 0 });
    expect(await store.findKey(hashOf("made up"))).toBeUndefined();
    expect(answered).toBe(0);
    await other.script("ROLLBACK");
    await Promise.all(reads);
    expect(answered).toBe(petIds.length);
  });
});
