/**
 * The REST API by Fastify: schemas for what comes in and for what goes out, a key check, `@fastify/rate-limit`, and one
 * commit a request.
 *
 *     node bench/contenders/fastify.ts DB [CERTIFICATE_FILE KEY_FILE]
 */
import { createApp, schemas, sendItem, serveApp } from "./peer/fastify-app.ts";
import { createKeyCheck } from "./peer/key-check.ts";
import { openTable } from "./peer/table.ts";

const [, , file = "", certFile, keyFile = ""] = process.argv;
const table = openTable(file);
const app = await createApp(createKeyCheck(table.db), certFile === undefined ? undefined : { certFile, keyFile });

app.get("/v1/inventory", { schema: schemas.list }, (_request, reply) => {
  reply.send(table.list());
});

app.get<{ Params: { petId: number } }>("/v1/inventory/:petId", { schema: schemas.read }, (request, reply) => {
  sendItem(reply, table.get(request.params.petId));
});

app.patch<{ Params: { petId: number }; Body: { quantity: number } }>(
  "/v1/inventory/:petId",
  { schema: schemas.update },
  (request, reply) => {
    sendItem(reply, table.update(request.params.petId, request.body.quantity));
  },
);

await serveApp(app, certFile === undefined ? "http" : "https");
