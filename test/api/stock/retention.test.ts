import { describe, expect, it } from "vitest";
import { issueCursor } from "../../../src/domain/history.ts";
import { protocols, rest } from "../../support/clients/protocols.ts";
import { until } from "../../support/deadline.ts";
import { expectFailure } from "../../support/expectations.ts";
import { StockServer } from "./stock-server.ts";

const stock = new StockServer("--history-retention", "1s");

/** Makes changes, and waits until all of them are past their time. Returns the cursors of the first one. */
async function outdate(): Promise<readonly string[]> {
  const { cursor } = await stock.get(rest, "listInventory", { pageSize: 1 });
  await stock.set(7n, 1n);
  const { changes } = await stock.get(rest, "listStockChanges", { after: cursor });
  await stock.set(7n, 2n);
  await until(async () => (await stock.get(rest, "listStockChanges", {})).changes.length === 0, 10_000);
  return [cursor, changes[0]?.cursor as string];
}

describe.each(protocols.filter(({ name }) => /^REST|^gRPC$|^Connect JSON, HTTP\/2/.test(name)))(
  "over $name",
  (protocol) => {
    const list = (query: Parameters<typeof stock.get<"listStockChanges">>[2]) =>
      stock.call(protocol, "listStockChanges", query);

    it("cursors whose next change is past its time have expired", async () => {
      for (const after of await outdate()) {
        expectFailure(await list({ after }), "CURSOR_EXPIRED");
        expectFailure(await list({ after, newestFirst: true }), "CURSOR_EXPIRED");
        expectFailure(await list({ after, pet: 7n }), "CURSOR_EXPIRED");
      }
    });

    it("the cursor of a list has not, though nothing has changed for long", async () => {
      await outdate();
      const { cursor } = await stock.get(protocol, "listInventory", {});
      expect((await list({ after: cursor })).message?.changes).toEqual([]);
      await stock.set(7n, 3n);
      expect((await list({ after: cursor })).message?.changes).toMatchObject([{ after: 3n }]);
    });

    it("a page token expires with the changes behind it", async () => {
      await stock.set(7n, 1n);
      await stock.set(7n, 2n);
      await stock.set(7n, 3n);
      const { nextPageToken } = await stock.get(protocol, "listStockChanges", { pageSize: 1 });
      expect(nextPageToken).not.toBe("");
      await outdate();
      expectFailure(await list({ pageSize: 1, pageToken: nextPageToken }), "CURSOR_EXPIRED");
    });

    it("cursors of another store have expired", async () => {
      const { cursor } = await stock.get(protocol, "listInventory", { pageSize: 1 });
      const { lineage, revision } = contentOf(cursor);
      expect(issueCursor(lineage, revision)).toBe(cursor);
      expectFailure(await list({ after: issueCursor("0123456789ab", revision) }), "CURSOR_EXPIRED");
      expectFailure(await list({ after: issueCursor(lineage, revision + 1n) }), "CURSOR_EXPIRED");
    });
  },
);

/** What a cursor stands for, by its form in src/domain/history.ts. */
function contentOf(cursor: string): { lineage: string; revision: bigint } {
  const bytes = Buffer.from(cursor, "base64url");
  return { lineage: bytes.toString("hex", 5, 11), revision: bytes.readBigInt64BE(11) };
}
