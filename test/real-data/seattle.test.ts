import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { protocols } from "../support/clients/protocols.ts";
import { expectSuccess } from "../support/expectations.ts";
import { createHttp1Client } from "../support/http.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";

/** A CSV file of many pets, as `export` writes it, such as the licensed pets of Seattle. */
const file = process.env.PETSTORE_TEST_CSV ?? "";

/** Each of the updates sets another pet's stock, over the protocols in turn. */
const updateCount = 1_200;

interface Row {
  readonly id: string;
  readonly status: string;
  readonly quantity: string;
}

const statuses = ["unspecified", "available", "pending", "sold"];

describe.skipIf(file === "")("with the licensed pets of a whole city", () => {
  const store = new TestStore();
  let csv: string;
  let rows: Row[];
  let server: TestServer;
  let key: string;

  beforeAll(async () => {
    csv = readFileSync(file, "utf8");
    rows = parse(csv, { columns: true });
    await store.run("import", file);
    key = (await store.mintQuota(1_000_000, 1_000_000)).key;
    server = await serve(store);
  });

  afterAll(() => server?.stop());

  it("exports what was imported, byte for byte", async () => {
    expect(await store.run("export")).toBe(csv);
  });

  it("lists all of them over REST", async () => {
    const http = createHttp1Client(server);
    const { text } = await http.send({
      method: "GET",
      path: "/v1/inventory",
      headers: { authorization: `Bearer ${key}` },
    });
    http.close();
    const entries = rows.map(
      ({ id, quantity, status }) => `{"petId":${id},"quantity":${quantity},"status":"${status}"}`,
    );
    expect(text === `[${entries.join(",")}]`).toBe(true);
  });

  it.each(protocols)("pages through all of them over $name", async (protocol) => {
    const entries: Row[] = [];
    let pageToken = "";
    do {
      const input = { pageSize: 9_999, pageToken };
      const page = expectSuccess(await server.call(protocol, "listInventory", input, { key }));
      for (const { petId, quantity, status } of page.items) {
        entries.push({ id: `${petId}`, quantity: `${quantity}`, status: statuses[status] ?? "" });
      }
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(entries).toEqual(rows.map(({ id, quantity, status }) => ({ id, quantity, status })));
  });

  it("changes what an update asks for, and nothing else", { timeout: 120_000 }, async () => {
    const stride = Math.floor(rows.length / updateCount);
    const changed = new Map<string, bigint>();
    for (let i = 0; i < updateCount; i++) {
      const { id } = rows[i * stride] as Row;
      const quantity = BigInt(i) - 600n;
      const input = { petId: BigInt(id), update: { quantity } };
      const protocol = protocols[i % protocols.length] as (typeof protocols)[number];
      expectSuccess(await server.call(protocol, "updateInventory", input, { key }));
      changed.set(id, quantity);
    }
    const expected = (parse(csv, { columns: true }) as Row[]).map((row) => ({
      ...row,
      quantity: `${changed.get(row.id) ?? row.quantity}`,
    }));
    expect(parse(await store.run("export"), { columns: true })).toEqual(expected);
  });
});
