import { renameSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectSuccess } from "../support/expectations.ts";
import { importFixture } from "../support/fixture.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";
import { ways } from "./ways.ts";

/** An update of a file that nobody can open any more would be acknowledged, and lost with the process. */
describe("a store that has been taken from under the server", () => {
  const store = new TestStore();
  let server: TestServer;
  let key: string;

  beforeAll(async () => {
    await importFixture(store.db, store.directory);
    ({ key } = await store.mintQuota(1_000_000, 1_000_000));
    server = await serve(store);
  });

  afterAll(() => server?.stop());

  const update = async (quantity: bigint) => {
    const { failure } = await server.call(rest, "updateInventory", { petId: 7n, update: { quantity } }, { key });
    return failure?.code;
  };

  async function expectReadOnly(): Promise<void> {
    await until(async () => (await update(2n)) === "UNAVAILABLE", 5_000);
    for (const way of ways) {
      expectSuccess(await server.call(way, "listInventory", {}, { key }));
      expectSuccess(await server.call(way, "getPet", { petId: 7n }, { key }));
    }
    expect(server.log).toContain("is not the file that was opened");
  }

  it("is written no more, and told of, until it is back", async () => {
    expect(await update(1n)).toBeUndefined();
    renameSync(store.db, `${store.db}.away`);
    await expectReadOnly();
    renameSync(`${store.db}.away`, store.db);
    await until(async () => (await update(3n)) === undefined, 5_000);
  });

  it("is written no more when it is deleted", async () => {
    rmSync(store.db);
    await expectReadOnly();
  });

  it("lets the server end", async () => {
    expect(await server.end()).toBe(0);
  });
});
