import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import rateLimit from "@fastify/rate-limit";
import Fastify, { type FastifyReply } from "fastify";
import { announcePort } from "./announce.ts";
import type { KeyCheck, KeyQuota } from "./key-check.ts";
import type { Item } from "./table.ts";

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

/** The schemas of the routes. */
export const schemas = {
  list: { response: { 200: { type: "array", items: item } } },
  read: { params, response: { 200: item } },
  update: { params, body: update, response: { 200: item } },
};

/** The two files that a server needs for TLS. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** An app without routes, which checks keys and counts limits by `@fastify/rate-limit`. */
export async function createApp(checkKey: KeyCheck, tls: CertificateFiles | undefined) {
  const https = tls === undefined ? null : { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) };
  const app = Fastify({ logger: false, https });
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
  return app;
}

/** Answers with a stock entry, or that there is no such pet. */
export function sendItem(reply: FastifyReply, found: Item | undefined): void {
  if (found === undefined) {
    reply.code(404).send({ code: "PET_NOT_FOUND", message: "There is no such pet.", status: 404 });
  } else {
    reply.send(found);
  }
}

/** Has an app listen on a free port, and says where. */
export async function serveApp(app: Awaited<ReturnType<typeof createApp>>, scheme: "http" | "https"): Promise<void> {
  await app.listen({ port: 0, host: "127.0.0.1" });
  announcePort((app.server.address() as AddressInfo).port, scheme);
}
