import { type ChildProcess, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { endWithProcess } from "../support/end-with-process.ts";
import { projectRoot } from "../support/petstore.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let receiver: ChildProcess;
let url: string;
let webhook: { readonly id: string; readonly secret: string };
let lines: string[] = [];

const former = `whsec_${Buffer.from("the former secret").toString("base64")}`;

/** A port that is free. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

beforeAll(async () => {
  server = await startServer("--allow-private");
  const port = await freePort();
  url = `http://127.0.0.1:${port}/`;
  webhook = JSON.parse(await server.store.run("webhooks", "create", "--url", url, "--json"));
  const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: `${webhook.secret} ${former}` };
  const cwd = join(projectRoot, "examples");
  receiver = spawn(process.execPath, ["webhook-receiver.ts"], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  endWithProcess(receiver);
  createInterface({ input: receiver.stdout as NodeJS.ReadableStream }).on("line", (line) => lines.push(line));
  await until(async () => lines.includes(`receiving on ${url}`), 10_000);
});

afterAll(async () => {
  receiver?.kill();
  await server?.stop();
});

/** Posts a delivery of one change, signed by these secrets. Resolves to the status. */
async function post(change: object, { id = "msg_1", ageSeconds = 0, secrets = [former], body = "" } = {}) {
  const content = body || JSON.stringify({ type: "stock.changed", timestamp: "", data: { changes: [change] } });
  const timestamp = String(Math.floor(Date.now() / 1_000) - ageSeconds);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${content}`).digest("base64")}`;
  });
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
  return (await fetch(url, { method: "POST", body: content, headers })).status;
}

it("takes what the service sends, with the secret that 'create' has printed", async () => {
  expect(await server.store.run("webhooks", "test", webhook.id, "--allow-private")).toContain("answered 204");
  await until(async () => lines.includes("received webhook.test"), 5_000);
  const { key } = await server.store.mintKey();
  await server.call(rest, "updateInventory", { petId: 7n, update: { quantity: 5n } }, { key });
  await server.call(rest, "updateInventory", { petId: 7n, update: { quantity: 4n } }, { key });
  await until(async () => lines.includes("pet 7: 5 -> 4"), 10_000);
  expect(lines.filter((line) => line.startsWith("pet 7"))).toEqual(["pet 7: 12 -> 5", "pet 7: 5 -> 4"]);
});

it("goes on through a rotation, with the old secret", async () => {
  lines = [];
  await server.store.run("webhooks", "rotate-secret", webhook.id);
  expect(await server.store.run("webhooks", "test", webhook.id, "--allow-private")).toContain("answered 204");
  await until(async () => lines.includes("received webhook.test"), 5_000);
});

it("applies a delivery once, and a change that comes in another delivery", async () => {
  const change = { cursor: "c1", petId: 8, before: 3, after: 2 };
  lines = [];
  expect(await post(change)).toBe(204);
  expect(await post(change)).toBe(204);
  expect(await post(change, { id: "msg_2" })).toBe(204);
  expect(await post({ ...change, cursor: "c2", before: 2, after: 1 }, { id: "msg_3" })).toBe(204);
  await until(async () => lines.includes("pet 8: 2 -> 1"), 5_000);
  expect(lines).toEqual(["pet 8: 3 -> 2", "pet 8: 2 -> 1"]);
});

it("applies numbers beyond 2^53 as they are", async () => {
  lines = [];
  const change = '{"cursor":"c4","petId":9223372036854775807,"before":9007199254740993,"after":9007199254740995}';
  const body = `{"type":"stock.changed","timestamp":"","data":{"changes":[${change}]}}`;
  expect(await post({}, { id: "msg_4", body })).toBe(204);
  await until(async () => lines.length > 0, 5_000);
  expect(lines).toEqual(["pet 9223372036854775807: 9007199254740993 -> 9007199254740995"]);
});

it("believes any of several signatures, and nothing else", async () => {
  const other = `whsec_${Buffer.from("of somebody else").toString("base64")}`;
  const change = { cursor: "c9", petId: 9, before: 1, after: 0 };
  lines = [];
  expect(await post(change, { secrets: [other] })).toBe(401);
  expect(await post(change, { secrets: [] })).toBe(401);
  expect(await post(change, { ageSeconds: 301 })).toBe(401);
  expect(await post(change, { ageSeconds: -301 })).toBe(401);
  expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(401);
  expect(await post(change, { body: "no JSON" })).toBe(400);
  expect(await post(change, { body: " ".repeat(1024 * 1024 + 1) }).catch(() => 413)).toBe(413);
  expect(await post(change, { id: "msg_9", secrets: [other, webhook.secret] })).toBe(204);
  await until(async () => lines.length > 0, 5_000);
  expect(lines).toEqual(["pet 9: 1 -> 0"]);
});
