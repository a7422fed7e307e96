import Sqlite from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { expectFailure, expectSuccess } from "../support/expectations.ts";
import { useServedStore } from "./served-store.ts";
import { ways } from "./ways.ts";

/** A server whose store has rows that are never written, as a byte that has changed on the disk makes them. */
describe("a damaged row", () => {
  const served = useServedStore(({ db }) => damage(db, "UPDATE stock SET status = 'sole' WHERE pet_id = 3"));

  function damage(db: string, sql: string): void {
    const driver = new Sqlite(db);
    driver.exec(`PRAGMA ignore_check_constraints = ON; ${sql}`);
    driver.close();
  }

  const update = (petId: bigint) =>
    served.server.call(rest, "updateInventory", { petId, update: { quantity: 5n } }, { key: served.key });

  it.each(ways)("is refused over $name, and the others are served", async (way) => {
    const { server, key } = served;
    expectFailure(await server.call(way, "listInventory", {}, { key }), "UNAVAILABLE");
    expectFailure(await server.call(way, "getPet", { petId: 3n }, { key }), "UNAVAILABLE");
    expectSuccess(await server.call(way, "getPet", { petId: 7n }, { key }));
  });

  it("is not updated, and does not keep others from being updated at the same time", async () => {
    const outcomes = await Promise.all([3n, 7n, 3n, 8n, 4711n].map(update));
    const codes = outcomes.map(({ failure }) => failure?.code);
    expect(codes).toEqual(["UNAVAILABLE", undefined, "UNAVAILABLE", undefined, "PET_NOT_FOUND"]);
  });

  it.each([
    ["photo_urls", '["http://a'],
    ["photo_urls", '{"0":"http://a"}'],
    ["tags", "[1]"],
    ["tags", "null"],
  ])("is a pet whose %s are %s", async (column, value) => {
    const { store, server, key } = served;
    damage(store.db, "UPDATE pets SET photo_urls = '[]', tags = '[]' WHERE id = 7");
    expectSuccess(await server.call(rest, "getPet", { petId: 7n }, { key }));
    damage(store.db, `UPDATE pets SET ${column} = '${value}' WHERE id = 7`);
    expectFailure(await server.call(rest, "getPet", { petId: 7n }, { key }), "UNAVAILABLE");
  });

  it.each([
    ["plan", "fre"],
    ["scopes", '["pets:read"'],
    ["scopes", "[null]"],
    ["scopes", '"pets:read"'],
  ])("is a key whose %s is %s", async (column, value) => {
    const { store, server } = served;
    const damaged = await store.mintKey();
    damage(store.db, `UPDATE keys SET ${column} = '${value}' WHERE id = '${damaged.id}'`);
    expectFailure(await server.call(rest, "getPet", { petId: 8n }, { key: damaged.key }), "UNAVAILABLE");
  });
});
