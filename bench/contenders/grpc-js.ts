/**
 * The inventory by `@grpc/grpc-js` and `@grpc/proto-loader`, with one commit a request. Keys and limits are a function
 * around the handler, which costs less than the library's server interceptors.
 *
 *     node bench/contenders/grpc-js.ts DB h2c|CERTIFICATE_FILE,KEY_FILE PROTO_DIRECTORY…
 */
import { readFileSync } from "node:fs";
import {
  type GrpcObject,
  type handleUnaryCall,
  loadPackageDefinition,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceClientConstructor,
  status,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { announcePort } from "./peer/announce.ts";
import { createKeyCheck } from "./peer/key-check.ts";
import { createLimiter } from "./peer/limits.ts";
import { type Item, openTable } from "./peer/table.ts";

interface UpdateRequest {
  readonly petId: number;
  readonly update: { readonly quantity: number };
}

const [, , file = "", transport = "", ...includeDirs] = process.argv;
const table = openTable(file);
const checkKey = createKeyCheck(table.db);
const admit = createLimiter();

function guarded<Request, Response>(handle: handleUnaryCall<Request, Response>): handleUnaryCall<Request, Response> {
  return (call, callback) => {
    const key = checkKey(call.metadata.get("authorization")[0] as string | undefined);
    if (key === undefined) {
      callback({ code: status.UNAUTHENTICATED, details: "Send a valid API key." });
      return;
    }
    const { isAdmitted, headers } = admit(key);
    const metadata = new Metadata();
    for (const [name, value] of headers) {
      metadata.set(name, value);
    }
    if (isAdmitted) {
      call.sendMetadata(metadata);
      handle(call, callback);
    } else {
      callback({ code: status.RESOURCE_EXHAUSTED, details: "The rate limit is exceeded.", metadata });
    }
  };
}

const listInventory: handleUnaryCall<unknown, unknown> = (_call, callback) => {
  callback(null, { items: table.list().map(messageOf) });
};

const updateInventory: handleUnaryCall<UpdateRequest, unknown> = ({ request }, callback) => {
  const item = table.update(request.petId, request.update.quantity);
  if (item === undefined) {
    callback({ code: status.NOT_FOUND, details: "There is no such pet." });
  } else {
    callback(null, { item: messageOf(item) });
  }
};

function messageOf(item: Item): object {
  return { ...item, status: `PET_STATUS_${item.status.toUpperCase()}` };
}

function credentialsOf(transport: string): ServerCredentials {
  if (transport === "h2c") {
    return ServerCredentials.createInsecure();
  }
  const [certFile = "", keyFile = ""] = transport.split(",");
  const pair = { cert_chain: readFileSync(certFile), private_key: readFileSync(keyFile) };
  return ServerCredentials.createSsl(null, [pair]);
}

const definition = loadSync("petstore/v1/inventory_service.proto", { includeDirs, longs: Number });
const { InventoryService } = (loadPackageDefinition(definition) as { petstore: { v1: GrpcObject } }).petstore.v1;
const server = new Server();
server.addService((InventoryService as ServiceClientConstructor).service, {
  listInventory: guarded(listInventory),
  updateInventory: guarded(updateInventory),
});
server.bindAsync("127.0.0.1:0", credentialsOf(transport), (error, port) => {
  if (error !== null) {
    throw error;
  }
  announcePort(port, transport === "h2c" ? "http" : "https");
});
