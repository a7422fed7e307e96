import { timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { protocols } from "../support/clients/protocols.ts";
import { expectSuccess } from "../support/expectations.ts";
import { orders } from "../support/fixture.ts";
import { createHttp1Client } from "../support/http.ts";
import { type MintedKey, startServer, type TestServer } from "../support/server.ts";
import { describeList } from "./list-suite.ts";

let server: TestServer;
let key: MintedKey;

beforeAll(async () => {
  server = await startServer();
  key = await server.store.mintQuota(1_000_000, 1_000_000);
});

afterAll(() => server?.stop());

const statuses = ["placed", "approved", "delivered"];

describeList<"listOrders">({
  operation: "listOrders",
  path: "/v1/store/orders",
  statuses,
  entries: orders,
  ids: (message) => message.orders.map(({ id }) => id),
  server: () => server,
  key: () => key.key,
});

describe.each(protocols)("over $name", (protocol) => {
  it("gives each order's fields, exact over all of int64", async () => {
    const message = expectSuccess(await server.call(protocol, "listOrders", {}, { key: key.key }));
    const found = message.orders.map(({ id, petId, quantity, shipDate, status, complete }) => ({
      id,
      petId,
      quantity,
      shipDateMs: shipDate && timestampMs(shipDate),
      status: statuses[status - 1],
      complete,
    }));
    expect(found).toEqual(orders.map(({ shipDate, ...order }) => ({ ...order, shipDateMs: Date.parse(shipDate) })));
  });
});

it("answers REST with all fields of an order, its date by RFC 3339", async () => {
  const http = createHttp1Client(server);
  const path = "/v1/store/orders";
  const { text } = await http.send({ method: "GET", path, headers: { authorization: `Bearer ${key.key}` } });
  http.close();
  const dates = [...text.matchAll(/"shipDate":"([^"]*)"/g)].map(([, date]) => date ?? "");
  expect(dates.map((date) => Date.parse(date))).toEqual(orders.map(({ shipDate }) => Date.parse(shipDate)));
  expect(dates.every((date) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(date))).toBe(true);
  for (const order of JSON.parse(text)) {
    expect(Object.keys(order)).toEqual(["id", "petId", "quantity", "shipDate", "status", "complete"]);
  }
  expect(text).toContain('"petId":9223372036854775806,"quantity":9223372036854775807');
});
