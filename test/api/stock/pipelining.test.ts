import { once } from "node:events";
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { openSocket } from "../../support/raw.ts";
import { StockServer } from "./stock-server.ts";

const stock = new StockServer();

/** A request over HTTP/1.1, whose body is JSON. */
function request(head: string, body?: string): string {
  const { key } = stock.key;
  const fields = ["Host: x", `Authorization: Bearer ${key}`, ...(body === undefined ? [] : [length(body)])];
  return `${head} HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n${body ?? ""}`;
}

function length(body: string): string {
  return `Content-Length: ${Buffer.byteLength(body)}`;
}

/** Sends requests in one piece, and returns the bodies of their answers. */
async function pipeline(requests: readonly string[]): Promise<unknown[]> {
  const socket = openSocket(stock.server);
  socket.write(requests.join(""));
  const bodies = await readBodies(socket, requests.length);
  socket.destroy();
  return bodies;
}

async function readBodies(socket: Socket, count: number): Promise<unknown[]> {
  let received = "";
  for (;;) {
    const bodies = received
      .split(/(?=HTTP\/1\.1 )/)
      .map((answer) => answer.split("\r\n\r\n")[1] ?? "")
      .filter((body) => /[}\]]$/.test(body));
    if (bodies.length === count) {
      return bodies.map((body) => JSON.parse(body));
    }
    const [bytes] = (await once(socket, "data")) as [Buffer];
    received += bytes.toString("latin1");
  }
}

it("a read behind an update on one connection sees it", async () => {
  for (let quantity = 1; quantity <= 20; quantity += 1) {
    const bodies = await pipeline([
      request("PATCH /v1/inventory/7", `{"quantity":${quantity}}`),
      request("GET /v1/inventory/7"),
    ]);
    expect(bodies).toMatchObject([{ quantity }, { quantity }]);
  }
});

it("an update behind a batch on one connection is done after it", async () => {
  for (let round = 0; round < 10; round += 1) {
    await stock.set(7n, 0n);
    await pipeline([
      request("POST /v1/inventory:batch", '{"changes":[{"petId":7,"delta":4}]}'),
      request("PATCH /v1/inventory/7", '{"quantity":7}'),
    ]);
    expect(await stock.quantityOf(7n)).toBe(7n);
  }
});

it("reads in front of an update on one connection do not see it", async () => {
  await stock.set(7n, 1n);
  const read = request("GET /v1/inventory/7");
  const bodies = await pipeline([read, read, request("PATCH /v1/inventory/7", '{"quantity":2}'), read]);
  expect(bodies).toMatchObject([{ quantity: 1 }, { quantity: 1 }, { quantity: 2 }, { quantity: 2 }]);
});
