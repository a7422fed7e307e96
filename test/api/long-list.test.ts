import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { protocols } from "../support/clients/protocols.ts";
import { expectSuccess } from "../support/expectations.ts";
import { pets, toCsv } from "../support/fixture.ts";
import type { Input } from "../support/operations.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";

/** More than are read at a time, and no multiple of that. */
const count = 2_000;

const ids = Array.from({ length: count }, (_, index) => BigInt(index));

/** The sold ones, by the number of that status. */
const sold = 3;
const soldIds = ids.filter((id) => id % 3n !== 0n);

let server: TestServer;
let key: string;

beforeAll(async () => {
  const store = new TestStore();
  const petsFile = join(store.directory, "many.csv");
  writeFileSync(petsFile, toCsv(ids.map((id) => ({ ...pets[0], id, status: id % 3n === 0n ? "pending" : "sold" }))));
  const ordersFile = join(store.directory, "orders.csv");
  const rows = ids.map((id) => `${id},${id},1,2026-01-01T00:00:00Z,placed,false`);
  writeFileSync(ordersFile, ["id,petId,quantity,shipDate,status,complete", ...rows].join("\n"));
  await store.run("import", petsFile, "--orders", ordersFile);
  ({ key } = await store.mintQuota(1_000_000, 1_000_000));
  server = await serve(store);
});

afterAll(() => server?.stop());

describe.each(protocols)("over $name, a list of more than is read at a time", (protocol) => {
  it.each<[title: string, input: Input<"listInventory">, expected: bigint[]]>([
    ["all", {}, ids],
    ["of one status", { status: [sold] }, soldIds],
  ])("has every entry: %s", async (_title, input, expected) => {
    const { items } = expectSuccess(await server.call(protocol, "listInventory", input, { key }));
    expect(items.map(({ petId }) => petId)).toEqual(expected);
  });

  it("has what remains after a page", async () => {
    const first = expectSuccess(await server.call(protocol, "listInventory", { pageSize: 10 }, { key }));
    const input = { pageToken: first.nextPageToken };
    const { items } = expectSuccess(await server.call(protocol, "listInventory", input, { key }));
    expect(items.map(({ petId }) => petId)).toEqual(ids.slice(10));
  });

  it("has every order", async () => {
    const { orders } = expectSuccess(await server.call(protocol, "listOrders", {}, { key }));
    expect(orders.map(({ id }) => id)).toEqual(ids);
  });
});
