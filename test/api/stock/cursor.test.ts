import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PetStatus } from "../../../gen/petstore/v1/pet_status_pb.ts";
import { protocols, rest } from "../../support/clients/protocols.ts";
import { until } from "../../support/deadline.ts";
import { createHttp1Client } from "../../support/http.ts";
import { StockServer } from "./stock-server.ts";

const stock = new StockServer();

describe.each(protocols)("over $name", (protocol) => {
  it.each([{}, { pageSize: 2 }, { status: [PetStatus.PENDING] }])(
    "a list by %o has the cursor of what it shows",
    async (query) => {
      await stock.set(7n, 1n);
      const { cursor } = await stock.get(protocol, "listInventory", query);
      expect(cursor).toBe((await stock.newestChange())?.cursor);
      await stock.set(7n, 2n);
      const { changes } = await stock.get(protocol, "listStockChanges", { after: cursor });
      expect(changes).toMatchObject([{ petId: 7n, before: 1n, after: 2n }]);
    },
  );

  it("a list and the changes after it are a true copy, though others write meanwhile", async () => {
    let isDone = false;
    const writing = (async () => {
      for (let quantity = 0n; !isDone; quantity += 1n) {
        await stock.set(quantity % 2n === 0n ? 7n : 6n, quantity);
      }
    })();
    const list = await stock.get(protocol, "listInventory", {});
    isDone = true;
    await writing;
    const copy = new Map(list.items.map(({ petId, quantity }) => [petId, quantity]));
    const { changes } = await stock.get(protocol, "listStockChanges", { after: list.cursor, pageSize: 1_000 });
    for (const { petId, before, after } of changes) {
      expect(copy.get(petId)).toBe(before);
      copy.set(petId, after);
    }
    const { items } = await stock.get(protocol, "listInventory", {});
    expect(copy).toEqual(new Map(items.map(({ petId, quantity }) => [petId, quantity])));
  });
});

describe("over REST", () => {
  async function send(path: string, headers: Record<string, string> = {}, method = "GET") {
    const http = createHttp1Client(stock.server);
    const all = { authorization: `Bearer ${stock.key.key}`, ...headers };
    const answer = await http.send({ method, path, headers: all });
    http.close();
    return answer;
  }

  it.each(["", "?pageSize=2", "?status=sold"])("HEAD has the cursor, too, and no body: %s", async (query) => {
    const get = await send(`/v1/inventory${query}`);
    const head = await send(`/v1/inventory${query}`, {}, "HEAD");
    expect(get.headers.get("x-inventory-cursor")).toMatch(/^[0-9A-Za-z_-]+$/);
    expect(head.text).toBe("");
    for (const name of ["x-inventory-cursor", "etag"]) {
      expect(head.headers.get(name), name).toBe(get.headers.get(name));
    }
  });

  it.each(["", "?pageSize=2"])("the tag of a list is new with each change, and 304 until then: %s", async (query) => {
    const etag = (await send(`/v1/inventory${query}`)).headers.get("etag") ?? "";
    expect(etag).toMatch(/^W\/"/);
    expect((await send(`/v1/inventory${query}`, { "if-none-match": etag })).status).toBe(304);
    await stock.set(7n, 1n);
    expect((await send(`/v1/inventory${query}`, { "if-none-match": etag })).status).toBe(200);
  });
});

it("an import is in the list within a second, and the cursor with it", async () => {
  const file = join(stock.server.store.directory, "new.csv");
  writeFileSync(file, "id,name,category,photoUrls,tags,status,quantity\n9,Rex,dog,,,available,9\n");
  await stock.server.store.run("import", file);
  const newest = await stock.newestChange();
  await until(async () => (await stock.get(rest, "listInventory", {})).cursor === newest?.cursor, 1_000);
  for (const protocol of protocols) {
    const { items } = await stock.get(protocol, "listInventory", {});
    expect(items.find(({ petId }) => petId === 9n)?.quantity).toBe(9n);
  }
});
