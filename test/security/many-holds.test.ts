import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { HoldState } from "../../src/domain/hold.ts";
import { Connection } from "../../src/storage/sqlite/connection.ts";
import { openSqliteStore, type SqliteStore } from "../../src/storage/sqlite/store.ts";
import { createContext, createPet } from "../storage/samples.ts";
import { adjust, change, codesOf } from "../storage/stocked-pets.ts";
import { createFolder } from "../support/folder.ts";
import { amount } from "../support/long.ts";

/** Holds of one each on pet 1, all by the same time; pet 2 has none. */
const count = amount(40_000, 1_000_000);
const [beforeMs, overMs] = [1_000, 2_000];

let store: SqliteStore;
let connection: Connection;

beforeEach(async () => {
  const file = join(createFolder(), "petstore.db");
  store = openSqliteStore(file);
  await store.importAll({ pets: [1n, 2n].map((id) => createPet({ id, quantity: BigInt(count) })) }, 0);
  connection = new Connection(file);
  connection.execute(
    `INSERT INTO holds (id, pet_id, quantity, state, created_at_ms, expires_at_ms, key_id)
     WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     SELECT 'hold_' || i, 1, 1, 'held', 0, ${overMs}, 'key_a' FROM n;
     UPDATE stock SET held = ${count} WHERE pet_id = 1`,
  );
});

afterEach(async () => {
  connection.close();
  await store.close();
});

/** The time of the processor that some calls take this process, in milliseconds. */
async function cpuMs(call: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await call();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function noted(): number {
  return Number(
    connection.get<{ count: bigint }>(`SELECT count(*) AS count FROM holds WHERE state = 'expired'`)?.count,
  );
}

it.each<[name: string, states: HoldState[]]>([
  ["all", []],
  ["those held", ["held"]],
  ["those expired", ["expired"]],
  ["those released or expired", ["released", "expired"]],
])("a page of %s takes no longer the more holds there are", async (_name, states) => {
  const ms = await cpuMs(async () => {
    for (let round = 0; round < 50; round++) {
      for (const petId of [undefined, 1n, 2n]) {
        await store.listHolds({ petId, states, before: undefined, limit: 10 }, beforeMs);
      }
    }
  });
  expect(ms).toBeLessThan(400);
});

it("a write notes only some of the holds that are over, where it needs no more", async () => {
  const context = { nowMs: overMs };
  expect((await change(store, adjust(1n, -1n), context)).quantity).toBe(BigInt(count - 1));
  expect(noted()).toBe(500);
  await store.createHold(
    { holdId: "hold_b", petId: 1n, quantity: 3n, ttlMs: 1_000, reference: undefined },
    createContext(context),
  );
  expect(noted()).toBe(1_000);
  expect(await codesOf([change(store, adjust(1n, BigInt(-count)), context)])).toEqual(["INSUFFICIENT_STOCK"]);
  expect(noted()).toBe(1_500);
  expect(await store.getAvailability(1n, overMs)).toMatchObject({ held: 3n, available: BigInt(count - 4) });
});

it("what is sold again rests on holds that stay over when the clock is set back", async () => {
  const sold = 5_000n;
  await change(store, adjust(1n, -sold), { nowMs: overMs });
  expect(await store.getAvailability(1n, beforeMs)).toMatchObject({ quantity: BigInt(count) - sold, available: 0n });
  expect(noted()).toBe(Number(sold));
});

it("an expired hold that is committed is noted alone", async () => {
  const ending = { holdId: "hold_7", reason: undefined, reference: undefined };
  expect(await codesOf([store.commitHold(ending, createContext({ nowMs: overMs }))])).toEqual(["HOLD_ENDED"]);
  expect(noted()).toBe(1);
  expect((await store.getHold("hold_7", beforeMs)).state).toBe("expired");
});
