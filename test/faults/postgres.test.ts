import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { importFixture } from "../support/fixture.ts";
import { mintKey } from "../support/keys.ts";
import { type Running, startPetstore } from "../support/petstore.ts";
import { clusterPort, createDatabase, type TestDatabase } from "../support/postgres/databases.ts";
import { postgresPrograms } from "../support/postgres/programs.ts";
import { DatabaseProxy } from "../support/postgres/proxy.ts";

interface Answer {
  readonly status: number;
  readonly code: unknown;
  readonly hasLimits: boolean;
  readonly tookMs: number;
}

describe.skipIf(postgresPrograms === undefined)("a server whose PostgreSQL", () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  let server: Running;
  let [url, opsUrl, secret, path] = ["", "", "", "/v1/inventory/7"];

  beforeAll(async () => {
    database = await createDatabase();
    await importFixture(database.url);
    secret = (await mintKey(database.url, [])).key;
    proxy = await DatabaseProxy.start(await clusterPort());
    const proxied = new URL(database.url);
    proxied.port = String(proxy.port);
    server = startPetstore(["serve", "--port", "0", "--ops-port", "0", "--database", proxied.href]);
    [url = "", opsUrl = ""] = [await server.nextLine(), await server.nextLine()].map(
      (line) => /http:\S+/.exec(line ?? "")?.[0],
    );
  });

  afterAll(async () => {
    proxy?.thaw();
    await server?.end("SIGTERM");
    await proxy?.close();
    await database?.remove();
  });

  async function send(init: RequestInit = {}): Promise<Answer> {
    const startedAt = performance.now();
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const response = await fetch(url + path, { ...init, headers });
    const { code } = (await response.json()) as { code?: unknown };
    const hasLimits = response.headers.has("x-ratelimit-remaining");
    return { status: response.status, code, hasLimits, tookMs: performance.now() - startedAt };
  }

  const set = (quantity: number) => send({ method: "PATCH", body: JSON.stringify({ quantity }) });
  const readiness = async () => (await fetch(`${opsUrl}/readyz`)).status;

  it("hangs answers 503 within 8 s, and after 5 s of silence within 2 s and without limits", async () => {
    expect(await set(5)).toMatchObject({ status: 200, hasLimits: true });
    proxy.freeze();
    for (const { status, code, tookMs } of await Promise.all([send(), set(6), send(), set(7)])) {
      expect({ status, code }).toEqual({ status: 503, code: "UNAVAILABLE" });
      expect(tookMs).toBeLessThan(8_000);
    }
    for (const answer of [await send(), await set(8)]) {
      expect(answer).toMatchObject({ status: 503, code: "UNAVAILABLE", hasLimits: false });
      expect(answer.tookMs).toBeLessThan(2_000);
    }
    await expect.poll(readiness, { timeout: 10_000 }).toBe(503);
  });

  it("is back serves again within 5 s, without a restart", async () => {
    proxy.thaw();
    proxy.cut();
    await expect.poll(async () => (await set(9)).status, { timeout: 5_000 }).toBe(200);
    expect((await send()).status).toBe(200);
    await expect.poll(readiness, { timeout: 5_000 }).toBe(200);
  });

  it("cuts its connections again and again fails only what was under way", async () => {
    const statuses = new Map<number, number>();
    let isOver = false;
    const clients = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const { status } = await set(1);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await setTimeout(5);
      }
    });
    for (let round = 0; round < 5; round += 1) {
      await setTimeout(300);
      proxy.cut();
    }
    await setTimeout(300);
    isOver = true;
    await Promise.all(clients);
    expect([...statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(statuses.get(200)).toBeGreaterThan(statuses.get(503) ?? 0);
    expect((await set(2)).status).toBe(200);
  });

  it("never shows its password", () => {
    expect(server.log()).not.toMatch(/postgres:\/\/[^*@]*:[^*@]+@/);
  });
});
