import { describe, expect, it, onTestFinished } from "vitest";
import { checkDatabase } from "../../../src/storage/postgres/check.ts";
import { openPostgresStore } from "../../../src/storage/postgres/store.ts";
import { borrowDatabase, runSql } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { exerciseWebhooks } from "../exercised-webhooks.ts";
import { createContext, createKey, createOrder, createPet, hashOf } from "../samples.ts";

/** A store with ten pets, an order, a key, a hold and webhooks. */
async function createStore(): Promise<string> {
  const database = await borrowDatabase();
  onTestFinished(() => database.remove());
  const store = await openPostgresStore(database.url);
  const pets = Array.from({ length: 10 }, (_, n) => createPet({ id: BigInt(n) }));
  await store.importAll({ pets, orders: [createOrder({ id: 1n })] }, 0);
  await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
  await store.changeStock({ kind: "set", petId: 1n, quantity: 5n }, createContext());
  const request = { holdId: "hold_a", petId: 1n, quantity: 2n, ttlMs: 1_000, reference: undefined };
  await store.createHold(request, createContext());
  await exerciseWebhooks(store);
  await store.close();
  return database.url;
}

const usage = "key_id, minute_opened_at_ms, minute_count, ban_step, ban_ends_at_ms, unbans, last_used_at_ms";
const noDelivery = "its delivery must end after its position, with a change that exists";
const oddFailures = "it must have failures, their beginning and a next attempt, or none of the three";

const broken: [name: string, sql: string, faults: string[]][] = [
  [
    "dates",
    "UPDATE orders SET ship_date_ms = 1::bigint << 60",
    ["order 1: its shipDate must be in the years 1 to 9999"],
  ],
  ["scopes", "UPDATE keys SET scopes = '{all}'", ["key key_a: it has an unknown scope, or its scopes are no list"]],
  [
    "quotas",
    "UPDATE keys SET plan = 'enterprise', per_minute = 5, per_day = 0",
    ["key key_a: its limits must be 1 at least"],
  ],
  ["times", "UPDATE keys SET expires_at_ms = 1::bigint << 60", ["key key_a: its times must be in the years 1 to 9999"]],
  ["secrets", "DELETE FROM secrets", ["key key_a: it has no secret"]],
  ["hashes", "UPDATE secrets SET hash = '\\x00'", ["key key_a: the hash of a secret must have 32 bytes"]],
  [
    "windows",
    `INSERT INTO usage (${usage}) VALUES ('key_a', 5, NULL, NULL, NULL, 0, 1)`,
    ["key key_a: a window must have a beginning and a count from 1 on, or neither"],
  ],
  [
    "bans",
    `INSERT INTO usage (${usage}) VALUES ('key_a', NULL, NULL, 6, 5, 0, 1)`,
    ["key key_a: a ban must have an end and a step from 1 to 5, or neither"],
  ],
  [
    "unbans",
    `INSERT INTO usage (${usage}) VALUES ('key_a', NULL, NULL, NULL, NULL, 1, 1)`,
    ["key key_a: its counters know of more unbans than the key"],
  ],
  ["stock", "DELETE FROM stock WHERE pet_id = 5", ["pet 5: it has no stock", "change 6: there is no such pet"]],
  ["pets", "DELETE FROM pets WHERE id = 5", ["pet 5: it has stock, but there is no such pet"]],
  [
    "what is held",
    "UPDATE stock SET held = 3 WHERE pet_id = 5",
    ["pet 5: its stock says that 3 are held, and its holds say 0"],
  ],
  ["lineages", "UPDATE head SET lineage = 'x'", ["the history has no lineage of twelve hexadecimal digits"]],
  [
    "gaps in the history",
    "DELETE FROM changes WHERE revision = 6",
    ["the history has gaps between its changes 1 and 11", "pet 5: its last change, 6, is not in the history"],
  ],
  ["heads", "UPDATE head SET revision = 12", ["the history ends with change 11, and the head says 12"]],
  [
    "histories without a change",
    "DELETE FROM changes",
    [
      "the history ends with change 0, and the head says 11",
      ...[1, 11, 3, 4, 5, 6, 7, 8, 9, 10].map(
        (change, pet) => `pet ${pet}: its last change, ${change}, is not in the history`,
      ),
    ],
  ],
  [
    "counts that nothing tells of",
    "UPDATE stock SET quantity = 7 WHERE pet_id = 5",
    ["change 6: it is the last of the pet, but the stock has another quantity"],
  ],
  [
    "last changes",
    "UPDATE stock SET revision = 2 WHERE pet_id = 1",
    ["change 11: the stock names another change as the last of the pet"],
  ],
  [
    "counts that do not go on",
    "UPDATE changes SET before = 7 WHERE revision = 11",
    ["change 11: it does not begin with the quantity that the previous change has left"],
  ],
  [
    "holds",
    "INSERT INTO holds VALUES (2, 'b', 9999, 1, NULL, 'released', 5, 5, 5, 'key_a')",
    ["hold b: there is no such pet", "hold b: it must expire after it was made"],
  ],
  [
    "idempotency records",
    "INSERT INTO idempotency_records VALUES ('key_a', 'sale-18', '\\x0b', '{}', 1)",
    ["idempotency key sale-18 of key_a: it must have a fingerprint"],
  ],
  [
    "positions of webhooks",
    "UPDATE webhooks SET position = CASE id WHEN 'whk_b' THEN -1 ELSE 12 END, delivering_up_to = NULL WHERE id <> 'whk_a'",
    [
      "webhook whk_b: its position, -1, is outside the history, which ends with 11",
      "webhook whk_c: its position, 12, is outside the history, which ends with 11",
    ],
  ],
  [
    "deliveries that end nowhere",
    "UPDATE webhooks SET delivering_up_to = CASE id WHEN 'whk_b' THEN 12 ELSE position END WHERE id <> 'whk_a'",
    [`webhook whk_b: ${noDelivery}`, `webhook whk_c: ${noDelivery}`],
  ],
  [
    "failures without a time",
    "UPDATE webhooks SET failures = 1, failing_since_ms = 5, next_attempt_at_ms = NULL WHERE id <> 'whk_a'",
    [`webhook whk_b: ${oddFailures}`, `webhook whk_c: ${oddFailures}`],
  ],
  [
    "claims without an end",
    "UPDATE webhooks SET claimed_by = 'x', claimed_until = clock_timestamp() + interval '1 hour' WHERE id = 'whk_a'",
    ["webhook whk_a: its claim lasts longer than a claim may"],
  ],
  [
    "attempts too many",
    `INSERT INTO webhook_attempts (webhook_id, delivery_id, at_ms, duration_ms, changes)
     SELECT 'whk_a', 'msg_1', 1, 1, 1 FROM generate_series(1, 3)`,
    ["webhook whk_a: it has 103 attempts, and 100 are kept"],
  ],
];

describe.skipIf(postgresPrograms === undefined)("a check of a PostgreSQL database", () => {
  it("finds no fault in a sound store", async () => {
    const reports: string[] = [];
    expect(await checkDatabase(await createStore(), (done, total) => reports.push(`${done}/${total}`))).toEqual([]);
    expect(reports.at(-1)).toBe(`${reports.length - 1}/${reports.length - 1}`);
  });

  it.each(broken)("tells of a broken rule: %s", async (_name, sql, faults) => {
    const url = await createStore();
    await runSql(url, sql);
    expect((await checkDatabase(url)).sort()).toEqual(faults.sort());
  });
});
