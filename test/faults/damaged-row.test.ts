import Sqlite from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { expectFailure, expectSuccess } from "../support/expectations.ts";
import { useServedStore } from "./served-store.ts";
import { ways } from "./ways.ts";

/** A server whose store has a pet of a status that there is not, as a byte that has changed on the disk makes it. */
describe("a damaged row", () => {
  const served = useServedStore(({ db }) => {
    const driver = new Sqlite(db);
    driver.exec("PRAGMA ignore_check_constraints = ON; UPDATE pets SET status = 'sole' WHERE id = 3");
    driver.close();
  });

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
});
