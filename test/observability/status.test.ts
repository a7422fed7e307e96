import { lookup } from "node:dns/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { parseStatus } from "../../src/cli/ops-client.ts";
import type { ServerStatus } from "../../src/domain/server-status.ts";
import { isLoopback } from "../../src/server/ops-port.ts";
import type { Target } from "../support/clients/client.ts";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { sendRaw } from "../support/raw.ts";
import { serve, startServer, type TestServer, TestStore } from "../support/server.ts";

const ownAddress = await lookup(hostname()).then(
  ({ address }) => address,
  () => "",
);

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server?.stop());

const ask = (path: string, init?: RequestInit) => fetch(`${server.opsOrigin}${path}`, init);

describe("the status", () => {
  const read = async () => parseStatus(await (await ask("/status")).json()) as ServerStatus;

  it("tells at a glance how the server is", async () => {
    expect(await read()).toEqual({
      version: manifest.version,
      startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      url: server.origin,
      opsUrl: server.opsOrigin,
      ready: true,
      db: {
        path: server.store.db,
        fileBytes: expect.any(Number),
        walBytes: expect.any(Number),
        freeBytes: expect.any(Number),
        lastBackupAt: null,
      },
      calls: { total: 0, perSecond1m: 0, failed: 0 },
      limits: { admitted: 0, refused: 0, banned: 0 },
      streams: { open: 0, most: 8_192, keysAtMost: 0, refused: 0 },
      webhooks: { active: 0, failing: 0, paused: 0, lagSeconds: 0 },
      keys: { byPlan: { free: 0, pro: 0, business: 0, enterprise: 0 } },
      logLevel: "info",
    });
  });

  it("tells of the last backup", async () => {
    const before = Date.now();
    await server.store.run("backup", join(server.store.directory, "backup.db"));
    const { lastBackupAt } = (await read()).db as unknown as { lastBackupAt: string };
    expect(Date.parse(lastBackupAt)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(lastBackupAt)).toBeLessThanOrEqual(Date.now());
  });

  it("counts calls, refusals and bans", async () => {
    const { key } = await server.store.mintQuota(1, 100);
    for (let made = 0; made < 22; made++) {
      await server.call(rest, "listInventory", {}, { key });
    }
    await until(async () => (await read()).calls.total === 22, 5_000);
    const { calls, limits } = await read();
    expect(limits).toEqual({ admitted: 1, refused: 19, banned: 2 });
    expect(calls.failed).toBe(0);
    expect(calls.perSecond1m).toBeGreaterThan(0);
    await until(async () => (await read()).keys.byPlan.enterprise === 1, 2_000);
  });

  it("counts open streams and refused ones, and webhooks", async () => {
    const { key } = await server.store.mintKey();
    const headers = { authorization: `Bearer ${key}` };
    const watch = () => fetch(`${server.origin}/v1/inventory/changes:watch`, { headers });
    const answers = await Promise.all(Array.from({ length: 33 }, watch));
    expect((await read()).streams).toEqual({ open: 32, most: 8_192, keysAtMost: 1, refused: 1 });
    await Promise.all(answers.map(async (answer) => answer.body?.cancel()));
    await until(async () => (await read()).streams?.open === 0, 5_000);
    const url = "http://127.0.0.1:1/";
    const { id } = JSON.parse(await server.store.run("webhooks", "create", "--url", url, "--from", "start", "--json"));
    await until(async () => (await read()).webhooks?.failing === 1, 5_000);
    expect((await read()).webhooks).toMatchObject({ active: 0, failing: 1, paused: 0 });
    expect((await read()).webhooks?.lagSeconds).toBeGreaterThan(0);
    await server.store.run("webhooks", "pause", id);
    await until(async () => (await read()).webhooks?.paused === 1, 5_000);
    expect((await read()).webhooks).toEqual({ active: 0, failing: 0, paused: 1, lagSeconds: 0 });
    await server.store.run("webhooks", "delete", id);
    await until(async () => (await read()).webhooks?.paused === 0, 5_000);
  });
});

describe("the operator's port", () => {
  const questions: [path: string, init: RequestInit, status: number, body: RegExp][] = [
    ["/healthz", {}, 200, /^ok\n$/],
    ["/healthz?verbose", {}, 200, /^ok\n$/],
    ["/readyz", {}, 200, /^ready\n$/],
    ["/log-level", {}, 200, /^info\n$/],
    ["/metrics", { method: "HEAD" }, 200, /^$/],
    ["/metrics", { method: "POST" }, 405, /^use GET\n$/],
    ["/log-level", { method: "DELETE" }, 405, /^use GET or PUT\n$/],
    [
      "/log-level",
      { method: "PUT", body: "debug", headers: { Origin: "http://127.0.0.1:9090" } },
      403,
      /^not from a browser\n$/,
    ],
    ["/log-level", { method: "PUT", body: "x".repeat(1_000_000) }, 413, /^send 1024 bytes at most\n$/],
    ["/", {}, 404, /^not found\n$/],
    ["/__proto__", {}, 404, /^not found\n$/],
    ["/v1/inventory", {}, 404, /^not found\n$/],
  ];

  it.each(questions.map((question) => [question[1].method ?? "GET", question[0], question[2], question] as const))(
    "%s %s is %i",
    async (_method, _path, _status, [path, init, status, body]) => {
      const answer = await ask(path, init);
      expect([answer.status, await answer.text()]).toEqual([status, expect.stringMatching(body)]);
      expect(answer.headers.get("cache-control")).toBe("no-store");
    },
  );

  it.each([
    ["/metrics", "GET, HEAD"],
    ["/log-level", "GET, HEAD, PUT"],
  ])("tells the methods of %s", async (path, allow) => {
    expect((await ask(path, { method: "POST" })).headers.get("allow")).toBe(allow);
  });

  it.each(["/metrics", "/status", "/log-level"])("has %s, and the API's port has not", async (path) => {
    expect((await fetch(`${server.origin}${path}`)).status).toBe(404);
  });
});

describe("the name by which the operator's port is asked", () => {
  const statusFor = async (host: string, { opsOrigin } = server) => {
    const target = { origin: opsOrigin };
    return (await sendRaw(target as Target, `GET /status HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).status;
  };

  it.each<[host: string, status: number]>([
    ["127.0.0.1", 200],
    ["127.0.0.1:9090", 200],
    ["127.1.2.3:9090", 200],
    ["LocalHost:9090", 200],
    ["[::1]", 200],
    ["[::1]:9090", 200],
    ["evil.example", 403],
    ["evil.example:9090", 403],
    ["localhost.evil.example", 403],
    ["127.0.0.1.evil.example", 403],
    ["127.0.0.1@evil.example", 403],
    ["10.0.0.7", 403],
    ["[::2]", 403],
    ["[", 403],
    ["", 403],
  ])("%j: %i", async (host, status) => {
    expect(await statusFor(host)).toBe(status);
  });

  it.skipIf(!isLoopback(ownAddress))(
    "is the one of --ops-host (skipped where the machine's is not local)",
    async () => {
      const named = await serve(new TestStore(), { flags: ["--ops-host", hostname()] });
      expect(await statusFor(`${hostname().toUpperCase()}:9090`, named)).toBe(200);
      expect(await statusFor("evil.example", named)).toBe(403);
      await named.stop();
    },
  );

  it("is any, where others than this machine reach it", async () => {
    const open = await serve(new TestStore(), { flags: ["--ops-host", "0.0.0.0"] });
    expect(await statusFor("petstore:9090", open)).toBe(200);
    await open.stop();
  });
});
