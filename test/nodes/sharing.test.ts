import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HoldState } from "../../gen/petstore/v1/hold_pb.ts";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectSuccess } from "../support/expectations.ts";
import { canHaveNodes } from "../support/left-out.ts";
import type { TestServer } from "../support/server.ts";
import { Nodes, promisedMs } from "./nodes.ts";

describe.runIf(canHaveNodes)("three servers over one PostgreSQL and one Valkey", () => {
  let nodes: Nodes;
  let key: string;

  beforeAll(async () => {
    nodes = await Nodes.start();
    ({ key } = nodes);
  });

  afterAll(() => nodes?.stop());

  /** Each server, with the one behind it. */
  const pairs = () => nodes.servers.map((server, index, all) => [server, all[(index + 1) % all.length]] as const);

  it("show an acknowledged update at once, and the same tags", async () => {
    for (let round = 0; round < 30; round += 1) {
      const writer = nodes.servers[round % nodes.servers.length] as TestServer;
      const update = { petId: 6n, update: { quantity: BigInt(1_000 + round) } };
      const { etag } = expectSuccess(await writer.call(rest, "updateInventory", update, { key }));
      const seen = await nodes.each(async (server) => {
        const entry = expectSuccess(await server.call(rest, "getInventory", { petId: 6n }, { key }));
        const list = await server.call(rest, "listInventory", {}, { key });
        const { items, cursor } = expectSuccess(list);
        const item = items.find(({ petId }) => petId === 6n);
        expect([entry.item?.quantity, entry.etag, item?.quantity]).toEqual([
          update.update.quantity,
          etag,
          entry.item?.quantity,
        ]);
        return [list.headers.get("etag"), cursor];
      });
      expect(seen).toEqual(nodes.servers.map(() => seen[0]));
      expect(seen[0]?.[0]).toMatch(/^W\/"/);
    }
  });

  it("have a revocation in force on each within a second", async () => {
    const { id, key: revoked } = await nodes.store.mintKey();
    const codes = () =>
      nodes.each(async (server) => (await server.call(rest, "getPet", { petId: 7n }, { key: revoked })).failure?.code);
    expect(await codes()).toEqual(nodes.servers.map(() => undefined));
    await nodes.store.run("keys", "revoke", id);
    await until(async () => (await codes()).every((code) => code === "API_KEY_REVOKED"), promisedMs(1_000));
  });

  it("do a write under an idempotency key once, whichever is asked", async () => {
    for (const [index, [one, other]] of pairs().entries()) {
      const headers = { "idempotency-key": `order-${index}` };
      const input = { petId: 5n, adjustment: { delta: 1n } };
      const adjust = (server: TestServer | undefined) => server?.call(rest, "adjustInventory", input, { key, headers });
      const outcomes = await Promise.all([adjust(one), adjust(other), adjust(one)]);
      expect(new Set(outcomes.map((outcome) => outcome && expectSuccess(outcome).item?.quantity)).size).toBe(1);
      const replays = outcomes.filter((outcome) => outcome?.headers.get("idempotency-replayed") === "true");
      expect(replays).toHaveLength(2);
    }
  });

  it("end one another's holds", async () => {
    for (const [one, other] of pairs()) {
      const { hold } = expectSuccess(await one.call(rest, "createHold", { petId: 4n, quantity: 1n }, { key }));
      const committed = await other?.call(rest, "commitHold", { holdId: hold?.holdId ?? "" }, { key });
      expect(committed?.message?.hold?.state).toBe(HoldState.COMMITTED);
      const again = await one.call(rest, "releaseHold", { holdId: hold?.holdId ?? "" }, { key });
      expect(again.failure?.code).toBe("HOLD_ENDED");
    }
  });

  it("go on from one another's cursors, page tokens and tags", async () => {
    for (const [one, other] of pairs()) {
      const { cursor } = expectSuccess(await one.call(rest, "listInventory", { pageSize: 1 }, { key }));
      const { etag } = expectSuccess(await one.call(rest, "getInventory", { petId: 3n }, { key }));
      const update = { petId: 3n, update: { quantity: BigInt(Date.now()) }, etag };
      expect((await other?.call(rest, "updateInventory", update, { key }))?.failure).toBeUndefined();
      const changes = await other?.call(rest, "listStockChanges", { after: cursor }, { key });
      expect(changes?.message?.changes).toMatchObject([{ petId: 3n, after: update.update.quantity }]);
      const { nextPageToken } = expectSuccess(await one.call(rest, "listInventory", { pageSize: 2 }, { key }));
      const next = await other?.call(rest, "listInventory", { pageSize: 2, pageToken: nextPageToken }, { key });
      expect(next?.message?.items).toHaveLength(2);
    }
  });
});
