/**
 * The inventory by stock `connectNodeAdapter`, with interceptors for keys and limits, and one commit a request.
 *
 *     node bench/contenders/connect-node.ts DB http1|http2
 */
import { createServer as createHttp1Server } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { Code, ConnectError, type ConnectRouter, createContextKey, type Interceptor } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { PetStatus } from "../../gen/petstore/v1/pet_status_pb.ts";
import { announce } from "./peer/announce.ts";
import { createKeyCheck, type KeyQuota } from "./peer/key-check.ts";
import { createLimiter } from "./peer/limits.ts";
import { openTable } from "./peer/table.ts";

const statuses = { available: PetStatus.AVAILABLE, pending: PetStatus.PENDING, sold: PetStatus.SOLD };
const keyOfCall = createContextKey<KeyQuota | undefined>(undefined);

const [, , file = "", version] = process.argv;
const table = openTable(file);

const checkKey = createKeyCheck(table.db);
const auth: Interceptor = (next) => (request) => {
  const key = checkKey(request.header.get("authorization") ?? undefined);
  if (key === undefined) {
    throw new ConnectError("Send a valid API key.", Code.Unauthenticated);
  }
  request.contextValues.set(keyOfCall, key);
  return next(request);
};

const admit = createLimiter();
const limits: Interceptor = (next) => async (request) => {
  const { isAdmitted, headers } = admit(request.contextValues.get(keyOfCall) as KeyQuota);
  if (!isAdmitted) {
    throw new ConnectError("The rate limit is exceeded.", Code.ResourceExhausted, new Headers([...headers]));
  }
  const response = await next(request);
  for (const [name, value] of headers) {
    response.header.set(name, value);
  }
  return response;
};

function routes(router: ConnectRouter): void {
  router.service(InventoryService, {
    updateInventory({ petId, update }) {
      const item = table.update(Number(petId), Number(update?.quantity ?? 0));
      if (item === undefined) {
        throw new ConnectError("There is no such pet.", Code.NotFound);
      }
      return {
        item: { petId: BigInt(item.petId), quantity: BigInt(item.quantity), status: statuses[item.status] },
      };
    },
  });
}

const handler = connectNodeAdapter({ routes, interceptors: [auth, limits] });
announce(version === "http2" ? createHttp2Server(handler) : createHttp1Server(handler));
