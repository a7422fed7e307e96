import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { protocols, rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { importFixture } from "../support/fixture.ts";
import { createHttp1Client } from "../support/http.ts";
import { type MintedKey, serve, startServer, type TestServer, TestStore } from "../support/server.ts";

const secretName = "a-name-that-is-nobody's-business";

interface Line {
  readonly level: number;
  readonly time: number;
  readonly msg: string;
  readonly requestId: string;
  readonly [name: string]: unknown;
}

let server: TestServer;
let key: MintedKey;

beforeAll(async () => {
  server = await startServer();
  key = await server.store.mintKey("--name", secretName);
});

beforeEach(() => setLevel("debug"));

afterAll(() => server?.stop());

async function setLevel(level: string): Promise<void> {
  const answer = await fetch(`${server.opsOrigin}/log-level`, { method: "PUT", body: level });
  expect([answer.status, await answer.text()]).toEqual([200, `${level}\n`]);
}

const readLevel = async () => (await (await fetch(`${server.opsOrigin}/log-level`)).text()).trim();

/** The lines of the call with this id, once there is one. */
async function linesOf(requestId: string): Promise<readonly Line[]> {
  const find = () => lines().filter((line) => line.requestId === requestId);
  await until(async () => find().length > 0, 5_000);
  return find();
}

function lines(): readonly Line[] {
  const whole = server.log.slice(0, server.log.lastIndexOf("\n") + 1);
  return whole
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}

describe.each(protocols)("over $name", (protocol) => {
  const name = /^[\w-]+/.exec(protocol.name)?.[0].toLowerCase();

  it("a call is one line, at its end", async () => {
    const requestId = `test-${protocol.name.replaceAll(/[^\w]/g, "_")}`;
    const startedAtMs = Date.now();
    const headers = { "x-request-id": requestId };
    await server.call(protocol, "updateInventory", { petId: 1n, update: { quantity: 3n } }, { key: key.key, headers });
    expect(await linesOf(requestId)).toEqual([
      {
        level: 20,
        time: expect.any(Number),
        pid: server.pid,
        hostname: expect.any(String),
        msg: "call",
        requestId,
        protocol: name,
        method: "petstore.v1.InventoryService/UpdateInventory",
        code: "OK",
        status: 200,
        keyId: key.id,
        clientAddress: "127.0.0.1",
        durationMs: expect.any(Number),
        requestBytes: expect.any(Number),
        responseBytes: expect.any(Number),
      },
    ]);
    const [line] = await linesOf(requestId);
    expect(line?.time).toBeGreaterThanOrEqual(startedAtMs);
    expect([line?.durationMs, line?.requestBytes, line?.responseBytes].every((value) => (value as number) > 0)).toBe(
      true,
    );
  });

  it("a refused call is a line with its code, and no key", async () => {
    const requestId = `refused-${protocol.name.replaceAll(/[^\w]/g, "_")}`;
    await server.call(protocol, "listOrders", {}, { key: "psk_wrong", headers: { "x-request-id": requestId } });
    const [line] = await linesOf(requestId);
    expect(line).toMatchObject({ protocol: name, code: "API_KEY_INVALID" });
    expect(line).not.toHaveProperty("keyId");
  });
});

describe("the path", () => {
  it.each([
    ["an unknown route", "GET", "/v1/nothing?token=1", "/v1/nothing"],
    ["a page", "GET", "/openapi.json?token=1", "/openapi.json"],
    ["a page that there is not", "GET", "/favicon", "/favicon"],
    ["an unknown RPC", "POST", "/petstore.v1.InventoryService/Burn", "/petstore.v1.InventoryService/Burn"],
    ["an RPC", "GET", "/v1/pets/7", undefined],
  ])("of %s is told, without its query, where no method is: %s %s", async (_title, method, path, shown) => {
    const requestId = `path${path.replaceAll(/\W/g, "_")}`;
    const http = createHttp1Client(server);
    const headers = { "x-request-id": requestId, "content-type": "application/json" };
    await http.send({ method, path, headers });
    http.close();
    expect((await linesOf(requestId)).map((line) => line.path)).toEqual([shown]);
  });
});

it("no line holds a key, or a body", async () => {
  const http = createHttp1Client(server);
  const headers = { authorization: `Bearer ${key.key}`, "content-type": "application/json", "x-request-id": "bodies" };
  const body = '{"quantity":"my-own-words"}';
  await http.send({ method: "PATCH", path: `/v1/inventory/7?token=${key.key}`, headers, body });
  await http.send({ method: "GET", path: `/v1/${key.key}`, headers: { "x-request-id": "bodies" } });
  await http.send({ method: "GET", path: "/v1/inventory", headers: { "x-request-id": key.key } });
  await http.send({ method: "POST", path: "/grpc.health.v1.Health/Check", headers: { "x-request-id": key.key } });
  http.close();
  expect((await linesOf("bodies")).length).toBeGreaterThan(0);
  await until(async () => (await linesOf("bodies")).length === 2, 5_000);
  expect(server.log).not.toContain(key.key);
  expect(server.log).not.toContain("my-own-words");
  expect(server.log).not.toContain(secretName);
});

describe("the level", () => {
  const call = (requestId: string) =>
    server.call(rest, "getPet", { petId: 7n }, { key: key.key, headers: { "x-request-id": requestId } });

  it("info passes over calls that are quick and succeed", async () => {
    await setLevel("info");
    await call("unseen");
    await setLevel("debug");
    await call("seen");
    await linesOf("seen");
    expect(lines().filter(({ requestId }) => requestId === "unseen")).toEqual([]);
  });

  it("is switched to debug and back by SIGUSR2", async () => {
    await setLevel("info");
    process.kill(server.pid, "SIGUSR2");
    await until(async () => (await readLevel()) === "debug", 5_000);
    process.kill(server.pid, "SIGUSR2");
    await until(async () => (await readLevel()) === "info", 5_000);
  });

  it("is the one that was set last, once SIGUSR2 has switched back from debug", async () => {
    await setLevel("warn");
    await setLevel("debug");
    process.kill(server.pid, "SIGUSR2");
    await until(async () => (await readLevel()) === "warn", 5_000);
  });

  it.each(["loud", "", "info\ndebug", "__proto__"])("is not %j", async (level) => {
    const answer = await fetch(`${server.opsOrigin}/log-level`, { method: "PUT", body: level });
    expect(answer.status).toBe(400);
    expect(await readLevel()).toBe("debug");
  });
});

it("the stop of a server logs how many failures had no line", async () => {
  const store = new TestStore();
  onTestFinished(() => store.remove());
  await importFixture(store.db);
  const caller = await store.mintKey("--plan", "pro");
  const driver = new Sqlite(store.db);
  driver.exec("PRAGMA ignore_check_constraints = ON; UPDATE stock SET status = 'sole' WHERE pet_id = 3");
  driver.close();
  const failing = await serve(store);
  onTestFinished(async () => void (await failing.end("SIGKILL")));
  for (let count = 0; count < 4; count++) {
    await failing.call(rest, "getInventory", { petId: 3n }, { key: caller.key });
  }
  await failing.end("SIGTERM");
  const told = failing.log
    .split("\n")
    .filter((line) => line.includes("UNAVAILABLE"))
    .map((line) => JSON.parse(line) as Line);
  expect(told.map(({ msg, unlogged }) => [msg, unlogged])).toEqual([
    ["a call failed", undefined],
    ["call", undefined],
    ["a call failed", 2],
    ["call", 2],
  ]);
});
