/**
 * The REST API by Fastify: schemas for what comes in and for what goes out, a key check, `@fastify/rate-limit`, and one
 * commit a request.
 *
 *     node bench/contenders/fastify.ts DB
 */
import type { AddressInfo } from "node:net";
import rateLimit from "@fastify/rate-limit";
import Fastify from "fastify";
import { announcePort } from "./peer/announce.ts";
import { createKeyCheck, type KeyQuota } from "./peer/key-check.ts";
import { openTable } from "./peer/table.ts";

declare module "fastify" {
  interface FastifyRequest {
    key: KeyQuota | undefined;
  }
}

const item = {
  type: "object",
  required: ["petId", "quantity", "status"],
  properties: {
    petId: { type: "integer" },
    quantity: { type: "integer" },
    status: { type: "string", enum: ["available", "pending", "sold"] },
  },
};
const update = { type: "object", required: ["quantity"], properties: { quantity: { type: "integer" } } };
const params = { type: "object", required: ["petId"], properties: { petId: { type: "integer" } } };

const table = openTable(process.argv[2] ?? "");
const checkKey = createKeyCheck(table.db);

const app = Fastify({ logger: false });
app.decorateRequest("key", undefined);
app.addHook("onRequest", (request, reply, done) => {
  request.key = checkKey(request.headers.authorization);
  if (request.key === undefined) {
    reply.code(401).send({ code: "API_KEY_INVALID", message: "Send a valid API key.", status: 401 });
  } else {
    done();
  }
});
await app.register(rateLimit, {
  max: 1_000_000_000,
  timeWindow: "1 minute",
  keyGenerator: (request) => request.key?.id ?? request.ip,
});

app.get("/v1/inventory", { schema: { response: { 200: { type: "array", items: item } } } }, (_request, reply) => {
  reply.send(table.list());
});

app.patch<{ Params: { petId: number }; Body: { quantity: number } }>(
  "/v1/inventory/:petId",
  { schema: { params, body: update, response: { 200: item } } },
  (request, reply) => {
    const updated = table.update(request.params.petId, request.body.quantity);
    if (updated === undefined) {
      reply.code(404).send({ code: "PET_NOT_FOUND", message: "There is no such pet.", status: 404 });
    } else {
      reply.send(updated);
    }
  },
);

await app.listen({ port: 0, host: "127.0.0.1" });
announcePort((app.server.address() as AddressInfo).port);
