/**
 * gRPC by `@grpc/grpc-js`, with the generated messages: a list, an update, and a call that is refused. grpc-js itself
 * tries again when the service cannot be reached.
 *
 *     PETSTORE_API_KEY=psk_… npm run example examples/grpc-js.ts
 */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { InventoryService } from "petstore-inventory-client/connect";

const { host } = new URL(process.env.BASE_URL ?? "http://127.0.0.1:8080/v1");

const retryPolicy = {
  maxAttempts: 4,
  initialBackoff: "0.2s",
  maxBackoff: "10s",
  backoffMultiplier: 2,
  retryableStatusCodes: ["UNAVAILABLE"],
};
// For TLS, `credentials.createSsl()`.
const channel = new Client(host, credentials.createInsecure(), {
  "grpc.service_config": JSON.stringify({ methodConfig: [{ name: [{}], retryPolicy }] }),
});

const metadata = new Metadata();
metadata.set("authorization", `Bearer ${process.env.PETSTORE_API_KEY}`);

function call<I extends DescMessage, O extends DescMessage>(method: DescMethodUnary<I, O>, input: MessageInitShape<I>) {
  return new Promise<MessageShape<O>>((resolve, reject) => {
    channel.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      (request: MessageShape<I>) => Buffer.from(toBinary(method.input, request)),
      (bytes) => fromBinary(method.output, bytes),
      create(method.input, input),
      metadata,
      (error, output) => (output === undefined ? reject(error) : resolve(output)),
    );
  });
}

const { listInventory, updateInventory } = InventoryService.method;

const { items } = await call(listInventory, { pageSize: 5 });
console.log(`${items.length} stock entries`);

const { item } = await call(updateInventory, { petId: 7n, update: { quantity: 6n } });
console.log(`pet ${item?.petId} now has ${item?.quantity}`);

try {
  await call(updateInventory, { petId: 404404n, update: { quantity: 6n } });
} catch (error) {
  const { code, details, metadata: trailers } = error as ServiceError;
  console.log(`${status[code]}: ${details}`);
  console.log(`${trailers.get("x-ratelimit-remaining").join()} requests left`);
}

channel.close();
