import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { expectFailure, expectSuccess } from "../support/expectations.ts";
import { importFixture } from "../support/fixture.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";
import { ways } from "./ways.ts";

/** A server whose store has a pet of a status that there is not, as a byte that has changed on the disk makes it. */
describe("a damaged row", () => {
  const store = new TestStore();
  let server: TestServer;
  let key: string;

  beforeAll(async () => {
    await importFixture(store.db, store.directory);
    ({ key } = await store.mintQuota(1_000_000, 1_000_000));
    const driver = new Sqlite(store.db);
    driver.exec("PRAGMA ignore_check_constraints = ON; UPDATE pets SET status = 'sole' WHERE id = 3");
    driver.close();
    server = await serve(store);
  });

  afterAll(() => server?.stop());

  const update = (petId: bigint) => server.call(rest, "updateInventory", { petId, update: { quantity: 5n } }, { key });

  it.each(ways)("is refused over $name, and the others are served", async (way) => {
    expectFailure(await server.call(way, "listInventory", {}, { key }), "UNAVAILABLE");
    expectFailure(await server.call(way, "getPet", { petId: 3n }, { key }), "UNAVAILABLE");
    expectSuccess(await server.call(way, "getPet", { petId: 7n }, { key }));
  });

  it("is not updated, and does not keep others from being updated at the same time", async () => {
    const outcomes = await Promise.all([3n, 7n, 3n, 8n, 4711n].map(update));
    const codes = outcomes.map(({ failure }) => failure?.code);
    expect(codes).toEqual(["UNAVAILABLE", undefined, "UNAVAILABLE", undefined, "PET_NOT_FOUND"]);
  });
});
