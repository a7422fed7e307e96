import { copyFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { expect, it } from "vitest";
import { PetStatus } from "../../gen/petstore/v1/pet_status_pb.ts";
import { StockServer } from "../api/stock/stock-server.ts";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { createFolder } from "../support/folder.ts";
import { type WatchProtocol, watchProtocols } from "../support/watch.ts";

const stock = new StockServer();

/** What another program takes a copy with: a backup has a lineage of its own, and a copy of the shell has not. */
const ways: [way: string, copy: (to: string) => Promise<void>][] = [
  ["a backup", async (to) => void (await stock.server.store.run("backup", to))],
  ["a copy with the same lineage", async (to) => withFile((driver) => driver.exec(`VACUUM INTO '${to}'`))],
];

function withFile(use: (driver: Sqlite.Database) => void): void {
  const driver = new Sqlite(stock.server.store.db);
  use(driver);
  driver.close();
}

/** Replaces the content of the store's file, as `.restore` of SQLite's shell does. */
async function putBack(copy: string): Promise<void> {
  const source = join(createFolder(), "source.db");
  copyFileSync(copy, source);
  const driver = new Sqlite(source);
  await driver.backup(stock.server.store.db);
  driver.close();
}

async function listed(petId: bigint) {
  const { items, cursor } = await stock.get(rest, "listInventory", {});
  return { item: items.find((each) => each.petId === petId), cursor };
}

it.each(ways)("a store that another program puts back to %s is followed", async (_, copy) => {
  await stock.set(7n, 1n);
  const file = join(createFolder(), "copy.db");
  await copy(file);
  for (const quantity of [2n, 3n, 4n]) {
    await stock.set(7n, quantity);
  }
  expect((await listed(7n)).item?.quantity).toBe(4n);
  const [events] = watchProtocols as [WatchProtocol];
  const headers = { authorization: `Bearer ${stock.key.key}` };
  const watch = events.open(stock.server, { after: (await listed(7n)).cursor }, headers);
  await watch.headers;
  await putBack(file);
  expect((await watch.ended)?.code).toBe("CURSOR_EXPIRED");
  await until(async () => (await listed(7n)).item?.quantity === 1n, 2_000);
  const { cursor } = await listed(7n);
  const next = events.open(stock.server, { after: cursor }, headers);
  await next.headers;
  await stock.set(7n, 5n);
  expect((await listed(7n)).item?.quantity).toBe(5n);
  await until(async () => next.told.some(({ revision }) => revision !== undefined), 2_000);
  next.stop();
});

it("an update that is answered before the server has noticed shows in the list, with a tag of its own", async () => {
  const file = join(createFolder(), "copy.db");
  await stock.server.store.run("backup", file);
  const tag = await stock.set(7n, 2n);
  await listed(7n);
  await putBack(file);
  expect(await stock.set(7n, 3n)).not.toBe(tag);
  expect((await listed(7n)).item?.quantity).toBe(3n);
});

it("what SQLite's shell writes into the stock shows in the whole list", async () => {
  await stock.set(7n, 2n);
  expect((await listed(7n)).item?.status).not.toBe(PetStatus.SOLD);
  withFile((driver) => driver.exec("UPDATE stock SET status = 'sold' WHERE pet_id = 7"));
  await until(async () => (await listed(7n)).item?.status === PetStatus.SOLD, 2_000);
});
