import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkDatabase } from "../../src/storage/sqlite/maintenance/check.ts";
import { schemaVersion } from "../../src/storage/sqlite/migrations.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";
import { exerciseWebhooks } from "./exercised-webhooks.ts";
import { createContext, createKey, createOrder, createPet, hashOf, setStock } from "./samples.ts";

const folder = mkdtempSync(join(tmpdir(), "petstore-check-"));
/** A store of some pages, closed, so that all of it is in its file. */
const made = join(folder, "petstore.db");

beforeAll(async () => {
  const store = openSqliteStore(made);
  const pets = Array.from({ length: 2_000 }, (_, n) => createPet({ id: BigInt(n), name: `Pet ${n}`, tags: ["a"] }));
  await store.importAll({ pets, orders: [createOrder({ id: 1n })] }, 0);
  await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
  await store.close();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A copy of the store, which a test may change. To make one for each would take most of the time. */
function createStore(): string {
  const file = join(createFolder(), "petstore.db");
  copyFileSync(made, file);
  return file;
}

/** Changes a store behind its back, its own rules included. */
function tamper(file: string, sql: string): void {
  const driver = new Sqlite(file).unsafeMode();
  driver.exec(`PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA writable_schema = ON; ${sql}`);
  driver.close();
}

/** Overwrites a part of each of some pages, which are numbered from 1. */
function damagePages(file: string, [first, last]: readonly [number, number]): void {
  const descriptor = openSync(file, "r+");
  for (let page = first; page <= last; page += 1) {
    writeSync(descriptor, Buffer.alloc(512, 0xff), 0, 512, (page - 1) * 4_096);
  }
  closeSync(descriptor);
}

describe("a sound store", () => {
  it.each(["quick", "full"] as const)("has no faults, and is left as it is: %s", async (depth) => {
    const file = createStore();
    const before = readFileSync(file);
    const reports: string[] = [];
    expect(await checkDatabase(file, depth, (done, total) => reports.push(`${done}/${total}`))).toEqual([]);
    expect(reports.at(-1)).toBe(`${reports.length - 1}/${reports.length - 1}`);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("may have holds, changes with marks, and be without its oldest changes", async () => {
    const file = createStore();
    const store = openSqliteStore(file);
    for (let nowMs = 1; nowMs <= 300; nowMs += 1) {
      await store.changeStock({ kind: "set", petId: BigInt(nowMs % 2), quantity: 5n }, createContext({ nowMs }));
    }
    const request = { holdId: "hold_a", petId: 1n, quantity: 2n, ttlMs: 1_000, reference: undefined };
    await store.createHold(request, createContext({ nowMs: 300 }));
    await store.close();
    expect(await checkDatabase(file, "full")).toEqual([]);
    const again = openSqliteStore(file);
    while (await again.deleteOutdated(280, 400)) {
      expect(await checkDatabase(file, "full")).toEqual([]);
    }
    expect((await again.historyBounds(0)).oldest).toBe(2_280n);
    await again.close();
    expect(await checkDatabase(file, "full")).toEqual([]);
  });

  it("may have webhooks, with attempts, failures and a delivery that was begun", async () => {
    const file = createStore();
    const store = openSqliteStore(file);
    await exerciseWebhooks(store);
    await store.close();
    expect(await checkDatabase(file, "full")).toEqual([]);
  });

  it("is checked while it is written to", async () => {
    const file = createStore();
    const store = openSqliteStore(file);
    const [faults] = await Promise.all([checkDatabase(file, "full"), setStock(store, 1n, 5n)]);
    expect(faults).toEqual([]);
    await store.close();
  });
});

const laterThan2 = [
  ...["last_backup", "usage_saves", "change_counters", "stock"].map((name) => `table ${name}`),
  "index stock_by_status",
  ...["history", "changes", "change_marks", "holds"].map((name) => `table ${name}`),
  ...["holds_open", "holds_by_expiry", "holds_by_end", "holds_by_pet", "holds_by_state"].map((name) => `index ${name}`),
  "table idempotency_records",
  "index idempotency_records_by_age",
  ...["webhooks", "webhook_attempts"].map((name) => `table ${name}`),
  "index webhook_attempts_by_webhook",
  ...["unapplied_stock", "current_stock"].map((name) => `view ${name}`),
];

/** Adds a change of pet 9, which has had one, as its change of that number. */
function addChange(number: number): string {
  return `INSERT INTO changes (revision, pet_id, previous, before, after, kind, occurred_at_ms, number)
          VALUES (2001, 9, 10, 0, 5, 'set', 1, ${number});
          UPDATE history SET applied_revision = 2001;
          UPDATE stock SET quantity = 5, revision = 2001, changes = ${number} WHERE pet_id = 9`;
}

/** Adds a webhook that has these values. */
function webhookAt(columns: string, values: string, id = "whk_a"): string {
  const row = `INSERT INTO webhooks (id, url, pet_ids, created_at_ms, secret, position, failures)
               VALUES ('${id}', 'https://receiver.example/', '[]', 1, 's', 0, 0)`;
  return `${row}; UPDATE webhooks SET (${columns}, url) = (${values}, url) WHERE id = '${id}'`;
}

function addAttempts(count: number): string {
  return `INSERT INTO webhook_attempts (webhook_id, delivery_id, at_ms, duration_ms, changes)
          SELECT 'whk_a', 'msg_1', 1, 1, 1 FROM pets LIMIT ${count}`;
}

const usage = "key_id, minute_opened_at_ms, minute_count, ban_step, ban_ends_at_ms, unbans, last_used_at_ms";

describe("a broken rule", () => {
  it.each<[name: string, sql: string, faults: string[]]>([
    [
      "texts that are not UTF-8, if only behind a NUL",
      `UPDATE pets SET name = CAST(x'6180' AS TEXT) WHERE id = 1; UPDATE pets SET name = CAST(x'6100ff' AS TEXT) WHERE id = 2;
       UPDATE pets SET name = 'Zoë, 猫' || char(0) WHERE id = 3; UPDATE keys SET name = CAST(x'c3' AS TEXT)`,
      [
        "keys: the name of key_a is not valid UTF-8",
        "pets: the name of 1 is not valid UTF-8",
        "pets: the name of 2 is not valid UTF-8",
      ],
    ],
    [
      "lists",
      `UPDATE pets SET tags = '["a",1]' WHERE id = 3`,
      ["pet 3: its photoUrls and tags must be lists of texts"],
    ],
    ["JSON", `UPDATE pets SET photo_urls = '[' WHERE id = 4`, ["pet 4: its photoUrls and tags must be lists of texts"]],
    ["statuses", `UPDATE stock SET status = 'lost' WHERE pet_id = 5`, ["CHECK constraint failed in stock"]],
    ["dates", `UPDATE orders SET ship_date_ms = 1 << 60`, ["order 1: its shipDate must be in the years 1 to 9999"]],
    ["scopes", `UPDATE keys SET scopes = '["all"]'`, ["key key_a: it has an unknown scope, or its scopes are no list"]],
    [
      "quotas",
      `UPDATE keys SET plan = 'enterprise', per_minute = 5, per_day = 0`,
      ["key key_a: its limits must be 1 at least"],
    ],
    ["times", `UPDATE keys SET expires_at_ms = 1 << 60`, ["key key_a: its times must be in the years 1 to 9999"]],
    ["secrets", `DELETE FROM secrets`, ["key key_a: it has no secret"]],
    ["hashes", `UPDATE secrets SET hash = x'00'`, ["key key_a: the hash of a secret must have 32 bytes"]],
    [
      "references",
      `INSERT INTO secrets VALUES (zeroblob(32), 'key_x', NULL)`,
      ["secrets: a row refers to a missing row of keys"],
    ],
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
    ["stock", `DELETE FROM stock WHERE pet_id = 5`, ["pet 5: it has no stock", "change 6: there is no such pet"]],
    ["pets", `DELETE FROM pets WHERE id = 5`, ["pet 5: it has stock, but there is no such pet"]],
    [
      "what is held",
      `UPDATE stock SET held = 3 WHERE pet_id = 5`,
      ["pet 5: its stock says that 3 are held, and its holds say 0"],
    ],
    [
      "the number of changes",
      `UPDATE stock SET changes = 0 WHERE pet_id = 9`,
      [
        "pet 9: its stock must have a revision if it has changes, and only then",
        "change 10: its number is 1, and it is the pet's 0",
        "change 10: it must have a mark if it is the 128th of the pet, and only then",
      ],
    ],
    ["lineages", `UPDATE history SET lineage = 'x'`, ["the history has no lineage of twelve hexadecimal digits"]],
    [
      "gaps in the history",
      `DELETE FROM changes WHERE revision = 10`,
      ["the history has gaps between its changes 1 and 2000", "pet 9: its last change, 10, is not in the history"],
    ],
    [
      "counts that nothing tells of",
      `UPDATE stock SET quantity = 5 WHERE pet_id = 9`,
      ["change 10: it is the last of the pet, but the stock has another quantity"],
    ],
    [
      "last changes",
      `${addChange(2)}; UPDATE stock SET revision = 10 WHERE pet_id = 9`,
      ["change 2001: the stock names another change as the last of the pet"],
    ],
    [
      "changes that the stock lacks",
      `${addChange(2)}; UPDATE history SET applied_revision = 2000; UPDATE stock SET revision = 10 WHERE pet_id = 9;
       UPDATE changes SET number = 0 WHERE revision = 2001`,
      [
        "pet 9: its stock must have a revision if it has changes, and only then",
        "change 2001: it must have a number, because the stock may lack it",
        "change 10: its number is 1, and it is the pet's -1",
        "change 2001: it must have a mark if it is the 128th of the pet, and only then",
      ],
    ],
    [
      "changes that there are not yet",
      `UPDATE history SET applied_revision = 2001`,
      ["the stock cannot have all changes up to 2001"],
    ],
    [
      "links to no change",
      `UPDATE changes SET previous = 10 WHERE revision = 11`,
      ["change 11: the previous change that it names does not exist"],
    ],
    [
      "links to others",
      `${addChange(2)}; UPDATE changes SET previous = 11 WHERE revision = 2001`,
      ["change 2001: it does not name the change of the pet before it"],
    ],
    [
      "counts that do not go on",
      `${addChange(2)}; UPDATE changes SET before = 7 WHERE revision = 2001`,
      ["change 2001: it does not begin with the quantity that the previous change has left"],
    ],
    [
      "marks too many",
      `INSERT INTO change_marks VALUES (9, 10), (9, 11)`,
      [
        "change 10: it must have a mark if it is the 128th of the pet, and only then",
        "pet 9: it has a mark of change 11, but there is no such change of it",
      ],
    ],
    [
      "marks too few",
      `${addChange(128)}; UPDATE changes SET number = 0 WHERE revision = 10`,
      ["change 2001: it must have a mark if it is the 128th of the pet, and only then"],
    ],
    [
      "holds",
      `INSERT INTO holds VALUES (1, 'a', 9999, 1, NULL, 'released', 5, 5, 5, 'key_a')`,
      ["hold a: there is no such pet", "hold a: it must expire after it was made"],
    ],
    [
      "idempotency records",
      `INSERT INTO idempotency_records VALUES ('key_a', 'sale-18', x'0b', '{', 1)`,
      ["idempotency key sale-18 of key_a: it must have a fingerprint and a result"],
    ],
    [
      "positions of webhooks",
      `${webhookAt("position", "2001")}; ${webhookAt("position", "-1", "whk_b")}`,
      [
        "webhook whk_a: its position, 2001, is outside the history, which ends with 2000",
        "webhook whk_b: its position, -1, is outside the history, which ends with 2000",
      ],
    ],
    [
      "deliveries that end nowhere",
      `${webhookAt("position, delivering_up_to", "5, 2001")};
       ${webhookAt("position, delivering_up_to", "5, 5", "whk_b")}`,
      ["whk_a", "whk_b"].map(
        (id) => `webhook ${id}: its delivery must end after its position, with a change that exists`,
      ),
    ],
    [
      "failures without a time",
      `${webhookAt("failures, failing_since_ms", "1, 5")}; ${webhookAt("failures, next_attempt_at_ms", "1, 5", "whk_b")};
       ${webhookAt("failing_since_ms, next_attempt_at_ms", "5, 5", "whk_c")}`,
      ["whk_a", "whk_b", "whk_c"].map(
        (id) => `webhook ${id}: it must have failures, their beginning and a next attempt, or none of the three`,
      ),
    ],
    [
      "pets of webhooks",
      `${webhookAt("pet_ids", "'7'")}; ${webhookAt("pet_ids", "'[7]'", "whk_b")}`,
      ["whk_a", "whk_b"].map((id) => `webhook ${id}: its pets must be a list of texts`),
    ],
    [
      "attempts too many",
      `${webhookAt("position", "5")}; ${addAttempts(101)}`,
      ["webhook whk_a: it has 101 attempts, and 100 are kept"],
    ],
    ["attempts of no webhook", addAttempts(1), ["webhook_attempts: a row refers to a missing row of webhooks"]],
    ["indexes", `DROP INDEX stock_by_status`, ["the index stock_by_status is missing"]],
    [
      "tables",
      `DROP TABLE orders`,
      [
        "the table orders is missing",
        "the index orders_by_status is missing",
        "the orders' dates cannot be read: no such table: orders",
      ],
    ],
    [
      "shapes",
      `DROP INDEX stock_by_status; CREATE INDEX stock_by_status ON stock (quantity)`,
      ["the index stock_by_status is not as petstore makes it"],
    ],
    [
      "a version below its tables",
      `PRAGMA user_version = 2`,
      [
        "the table pets is not as petstore makes it",
        "the index pets_by_status is missing",
        ...laterThan2.map((name) => `the ${name} is of a later version than 2, as which the store is marked`),
      ],
    ],
    [
      "no version",
      `PRAGMA user_version = 0`,
      [`it is marked as version 0 of the schema; there are 1 to ${schemaVersion}`],
    ],
    [
      "negative versions",
      `PRAGMA user_version = -1`,
      [`it is marked as version -1 of the schema; there are 1 to ${schemaVersion}`],
    ],
    [
      "triggers of others",
      `CREATE TRIGGER spy AFTER UPDATE ON pets BEGIN DELETE FROM orders; END`,
      ["the trigger spy is not petstore's"],
    ],
    ["views of others", `CREATE VIEW sold AS SELECT * FROM pets`, ["the view sold is not petstore's"]],
    ["indexes of others", `CREATE UNIQUE INDEX mine ON stock (quantity, pet_id)`, ["the index mine is not petstore's"]],
  ])("is told: %s", async (_name, sql, faults) => {
    const file = createStore();
    tamper(file, sql);
    expect(await checkDatabase(file, "full")).toEqual(faults);
  });

  it("is told of the tables of others by nobody", async () => {
    const file = createStore();
    tamper(file, "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)");
    tamper(file, "CREATE INDEX _litestream_index ON _litestream_seq (seq)");
    expect(await checkDatabase(file, "full")).toEqual([]);
  });

  it.each([
    [
      "with texts that are not UTF-8",
      "CREATE TABLE theirs (name TEXT); INSERT INTO theirs VALUES (CAST(x'80' AS TEXT))",
    ],
    [
      "with names in quotes",
      `CREATE TABLE "their's ""own""" ("a""b" TEXT); INSERT INTO "their's ""own""" VALUES ('é')`,
    ],
    ["with broken references", "CREATE TABLE theirs (pet_id REFERENCES pets (id)); INSERT INTO theirs VALUES (-1)"],
    [
      "with impossible references",
      "CREATE TABLE theirs (pet TEXT REFERENCES pets (name)); INSERT INTO theirs VALUES ('é')",
    ],
  ])("is not looked for in the tables of others %s", async (_which, sql) => {
    const file = createStore();
    tamper(file, sql);
    expect(await checkDatabase(file, "full")).toEqual([]);
  });
});

describe("damage", () => {
  it("of pages is told", async () => {
    const file = createStore();
    const pages = statSync(file).size / 4_096;
    damagePages(file, [Math.floor(pages / 2), Math.floor(pages / 2)]);
    const faults = await checkDatabase(file, "quick");
    expect(faults.join("\n")).toMatch(/^Tree \d+ page \d+|malformed/);
  });

  it("of the header's write version, by which SQLite would not write the store, is told", async () => {
    const file = createStore();
    const descriptor = openSync(file, "r+");
    writeSync(descriptor, Buffer.of(0x42), 0, 1, 18);
    closeSync(descriptor);
    expect(await checkDatabase(file, "quick")).toEqual([
      "the header: it asks for version 66 to write the file, and for 2 to read it",
    ]);
  });

  it("of nearly all pages is told, and ends nothing", async () => {
    const file = createStore();
    damagePages(file, [4, statSync(file).size / 4_096]);
    const faults = await checkDatabase(file, "full");
    expect(faults.length).toBeGreaterThan(3);
    expect(faults.filter((fault) => fault.includes("\n") || fault === "")).toEqual([]);
  });

  it("of an index alone is told by the full check, and passed over by the quick one", async () => {
    const file = createStore();
    const index = "sqlite_schema WHERE name = 'stock_by_status'";
    tamper(file, `CREATE TABLE hidden AS SELECT * FROM ${index}; DELETE FROM ${index}`);
    tamper(file, "UPDATE stock SET status = 'sold' WHERE pet_id < 3");
    tamper(file, "INSERT INTO sqlite_schema SELECT * FROM hidden; DROP TABLE hidden");
    expect(await checkDatabase(file, "quick")).toEqual([]);
    expect(await checkDatabase(file, "full")).toContainEqual(expect.stringContaining("stock_by_status"));
  });

  it.each<[string, (file: string) => void, string]>([
    ["a missing file", () => {}, "there is no such store"],
    ["an empty file", (file) => writeFileSync(file, ""), "empty, and no store yet"],
    ["a text", (file) => writeText(file), "not a SQLite database"],
  ])("is refused where nothing of a store is left: %s", async (_name, make, message) => {
    const file = join(createFolder(), "other.db");
    make(file);
    await expect(checkDatabase(file, "full")).rejects.toThrow(`${file}: ${message}`);
  });
});

function writeText(file: string): void {
  const descriptor = openSync(file, "w");
  writeSync(descriptor, "id,name\n".repeat(1_000));
  closeSync(descriptor);
}
