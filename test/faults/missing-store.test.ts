import { renameSync, rmSync, symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectSuccess } from "../support/expectations.ts";
import { useServedStore } from "./served-store.ts";
import { ways } from "./ways.ts";

/** An update of a file that nobody can open any more would be acknowledged, and lost with the process. */
describe("a store that has been taken from under the server", () => {
  const served = useServedStore();

  const update = async (quantity: bigint) => {
    const { server, key } = served;
    const { failure } = await server.call(rest, "updateInventory", { petId: 7n, update: { quantity } }, { key });
    return failure?.code;
  };

  async function expectReadOnly(reason = "is not the file that was opened"): Promise<void> {
    const { server, key } = served;
    await until(async () => (await update(2n)) === "UNAVAILABLE", 5_000);
    for (const way of ways) {
      expectSuccess(await server.call(way, "listInventory", {}, { key }));
      expectSuccess(await server.call(way, "getPet", { petId: 7n }, { key }));
    }
    expect(server.log).toContain(reason);
  }

  it("is written no more, and told of, until it is back", async () => {
    const { db } = served.store;
    expect(await update(1n)).toBeUndefined();
    renameSync(db, `${db}.away`);
    await expectReadOnly();
    renameSync(`${db}.away`, db);
    await until(async () => (await update(3n)) === undefined, 5_000);
  });

  it("is written no more while nobody can tell whether it is there", async () => {
    const { db } = served.store;
    renameSync(db, `${db}.away`);
    symlinkSync(db, db);
    await expectReadOnly("too many symbolic links");
    renameSync(`${db}.away`, db);
    await until(async () => (await update(3n)) === undefined, 5_000);
  });

  it("is written no more when it is deleted", async () => {
    rmSync(served.store.db);
    await expectReadOnly();
  });

  it("has the server answer that it is not ready, and its status say why", async () => {
    const { opsOrigin } = served.server;
    expect((await fetch(`${opsOrigin}/readyz`)).status).toBe(503);
    const status = await fetch(`${opsOrigin}/status`);
    expect(status.status).toBe(200);
    expect(await status.json()).toMatchObject({ ready: false, db: { error: "the store does not answer" } });
    expect((await fetch(`${opsOrigin}/metrics`)).status).toBe(200);
  });

  it("lets the server end", async () => {
    expect(await served.server.end()).toBe(0);
  });
});
