import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { Served } from "../serve-copy.ts";

/** Throws unless all servers answer a `GET` with the same JSON: contenders with different data cannot be compared. */
export async function assertSameAnswer(served: readonly Served[], path: string): Promise<void> {
  const answers = served.map(({ server, data }) => read(`${server.origin}${path}`, data.key));
  assertSame(await Promise.all(answers), path);
}

/** As `assertSameAnswer`, of the list over REST. */
export function assertSameRestList(served: readonly Served[]): Promise<void> {
  return assertSameAnswer(served, "/v1/inventory");
}

/** As `assertSameAnswer`, of the items of `ListInventory` over gRPC. */
export async function assertSameList(served: readonly Served[]): Promise<void> {
  const answers = served.map(({ server, data }) => listOverGrpc(server.origin, data.key));
  assertSame(await Promise.all(answers), "ListInventory");
}

function assertSame(texts: readonly string[], what: string): void {
  const other = texts.findIndex((text) => text !== texts[0]);
  if (other !== -1) {
    throw new Error(`${what}: contender ${other + 1} answers otherwise than the first one`);
  }
}

async function read(url: string, key: string): Promise<string> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  return response.text();
}

async function listOverGrpc(origin: string, key: string): Promise<string> {
  const client = createClient(InventoryService, createGrpcTransport({ baseUrl: origin }));
  const { items } = await client.listInventory({}, { headers: { authorization: `Bearer ${key}` } });
  return items.map(({ petId, quantity, status }) => `${petId} ${quantity} ${status}`).join("\n");
}
