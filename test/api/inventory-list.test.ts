import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { protocols } from "../support/clients/protocols.ts";
import { expectSuccess } from "../support/expectations.ts";
import { pets, toCsv } from "../support/fixture.ts";
import { createHttp1Client } from "../support/http.ts";
import { rpcPath } from "../support/operations.ts";
import { type MintedKey, serve, startServer, type TestServer, TestStore } from "../support/server.ts";
import { describeList } from "./list-suite.ts";

let server: TestServer;
let key: MintedKey;

beforeAll(async () => {
  server = await startServer();
  key = await server.store.mintQuota(1_000_000, 1_000_000);
});

afterAll(() => server?.stop());

const statuses = ["available", "pending", "sold"];

describeList<"listInventory">({
  operation: "listInventory",
  path: "/v1/inventory",
  statuses,
  entries: pets,
  ids: ({ items }) => items.map(({ petId }) => petId),
  server: () => server,
  key: () => key.key,
});

describe.each(protocols)("over $name", (protocol) => {
  it("gives each pet's stock and status, exact over all of int64", async () => {
    const { items } = expectSuccess(await server.call(protocol, "listInventory", {}, { key: key.key }));
    expect(items.map(({ petId, quantity, status }) => ({ petId, quantity, status }))).toEqual(
      pets.map(({ id, quantity, status }) => ({ petId: id, quantity, status: statuses.indexOf(status) + 1 })),
    );
  });
});

it("answers REST with a bare array whose integers are exact JSON numbers", async () => {
  const http = createHttp1Client(server);
  const { text, headers } = await http.send({
    method: "GET",
    path: "/v1/inventory",
    headers: { authorization: `Bearer ${key.key}` },
  });
  http.close();
  const items = pets.map(({ id, quantity, status }) => `{"petId":${id},"quantity":${quantity},"status":"${status}"}`);
  expect(text.trim()).toBe(`[${items.join(",")}]`);
  expect(headers.get("content-type")).toBe("application/json");
});

it("answers Connect JSON with int64 as strings", async () => {
  const http = createHttp1Client(server);
  const { text } = await http.send({
    method: "POST",
    path: rpcPath("listInventory"),
    headers: { authorization: `Bearer ${key.key}`, "content-type": "application/json" },
    body: '{"pageSize":1}',
  });
  http.close();
  expect(JSON.parse(text).items).toEqual([
    { petId: String(pets[0]?.id), quantity: String(pets[0]?.quantity), status: "PET_STATUS_SOLD" },
  ]);
});

describe("with more than 10,000 pets", () => {
  let large: TestServer;
  let largeKey: MintedKey;

  beforeAll(async () => {
    const store = new TestStore();
    const file = join(store.directory, "many.csv");
    const rows = Array.from({ length: 10_001 }, (_, index) => ({ ...pets[0], id: BigInt(index) }));
    writeFileSync(file, toCsv(rows));
    await store.run("import", file);
    largeKey = await store.mintKey();
    large = await serve(store);
  });

  afterAll(() => large?.stop());

  it.each(protocols)("cuts a larger page size to 10,000 over $name", async (protocol) => {
    const options = { key: largeKey.key };
    const first = expectSuccess(await large.call(protocol, "listInventory", { pageSize: 20_000 }, options));
    expect(first.items).toHaveLength(10_000);
    const query = { pageSize: 20_000, pageToken: first.nextPageToken };
    const second = expectSuccess(await large.call(protocol, "listInventory", query, options));
    expect(second.items.map(({ petId }) => petId)).toEqual([10_000n]);
    expect(second.nextPageToken).toBe("");
  });

  it.each(protocols)("lists all of them without a page size over $name", async (protocol) => {
    const { items } = expectSuccess(await large.call(protocol, "listInventory", {}, { key: largeKey.key }));
    expect(items).toHaveLength(10_001);
  });
});
