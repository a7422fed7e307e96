import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Sqlite from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { expectFailure, expectSuccess } from "../support/expectations.ts";
import { importFixture } from "../support/fixture.ts";
import { serve, TestStore } from "../support/server.ts";
import { useServedStore } from "./served-store.ts";
import { ways } from "./ways.ts";

function damage(db: string, sql: string): void {
  const driver = new Sqlite(db);
  driver.exec(`PRAGMA ignore_check_constraints = ON; ${sql}`);
  driver.close();
}

/** A server whose store has rows that are never written, as a byte that has changed on the disk makes them. */
describe("a damaged row", () => {
  const served = useServedStore(({ db }) => damage(db, "UPDATE stock SET status = 'sole' WHERE pet_id = 3"));

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

it("a damaged row of a webhook stops no other webhook, and is told of", async () => {
  const paths = new Set<string | undefined>();
  const receiver = createServer((request, response) => {
    paths.add(request.url);
    request.resume().on("end", () => response.writeHead(204).end());
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void receiver.close());
  const store = new TestStore();
  onTestFinished(() => store.remove());
  await importFixture(store.db);
  const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  for (const path of ["/damaged", "/whole"]) {
    await store.run("webhooks", "create", "--url", `${origin}${path}`, "--from", "start");
  }
  damage(store.db, `UPDATE webhooks SET pet_ids = '["7' WHERE url LIKE '%/damaged'`);
  const server = await serve(store, { flags: ["--allow-private"] });
  onTestFinished(() => server.stop());
  await expect.poll(() => [...paths], { timeout: 20_000 }).toEqual(["/whole"]);
  expect(server.log).toMatch(/the row of webhook whk_\w+ is damaged/);
  await expect(store.run("webhooks", "list")).rejects.toThrow("a row has no list of texts");
});
