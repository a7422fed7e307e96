import { copyFileSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { checkDatabase } from "../../src/storage/sqlite/maintenance/check.ts";
import { openSqliteStore, type SqliteStore } from "../../src/storage/sqlite/store.ts";
import { createPet, everything, setStock } from "../storage/samples.ts";
import { createFolder } from "../support/folder.ts";
import { amount } from "../support/long.ts";
import { report } from "../support/report.ts";

const transactions = 4;

/** The log is cut at every byte in the long run, and at every 211th otherwise. */
const step = amount(211, 1);

interface History {
  readonly file: string;
  readonly states: readonly (readonly bigint[])[];
}

/** The sizes of the header of the log, and of each of its pages. Source: https://sqlite.org/fileformat2.html#the_write_ahead_log */
const logHeaderBytes = 32;
const frameBytes = 24 + 4_096;
/** An update writes the page of the history. That of the stock comes later. */
const transactionBytes = frameBytes;

/** A store, left open, with a log of transactions; and the stock after each of them. */
async function createHistory(): Promise<History> {
  const file = join(createFolder(), "petstore.db");
  const ids = [0n, 1n, 2n, 3n];
  const empty = openSqliteStore(file);
  await empty.importAll({ pets: ids.map((id) => createPet({ id })) }, 0);
  await empty.close();
  const store = openSqliteStore(file);
  onTestFinished(() => store.close());
  const states = [await stockOf(store)];
  for (let transaction = 0; transaction < transactions; transaction++) {
    await setStock(store, BigInt(transaction), 100n + BigInt(transaction));
    states.push(await stockOf(store));
  }
  return { file, states };
}

async function stockOf(store: SqliteStore): Promise<readonly bigint[]> {
  return (await store.listInventory(everything)).map(({ quantity }) => quantity);
}

it("opens a store whose log is cut at any byte, as it was after one of its transactions", {
  timeout: amount(60_000, 900_000),
}, async () => {
  const beganMs = performance.now();
  const { file, states } = await createHistory();
  const logBytes = readFileSync(`${file}-wal`).length;
  expect(logBytes).toBe(logHeaderBytes + transactions * transactionBytes);
  const copy = join(createFolder(), "copy.db");
  let cuts = 0;
  for (let length = 0; length <= logBytes; length += step) {
    copyFileSync(file, copy);
    copyFileSync(`${file}-wal`, `${copy}-wal`);
    truncateSync(`${copy}-wal`, length);
    const done = Math.max(0, Math.floor((length - logHeaderBytes) / transactionBytes));
    const store = openSqliteStore(copy);
    expect(await stockOf(store), `cut at ${length}`).toEqual(states[done]);
    await store.close();
    expect(await checkDatabase(copy, "full"), `cut at ${length}`).toEqual([]);
    cuts += 1;
  }
  const seconds = Math.round((performance.now() - beganMs) / 1_000);
  report("a log cut", { cuts, logBytes, seconds });
});
