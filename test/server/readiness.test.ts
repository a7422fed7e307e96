import { setTimeout } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createReadiness } from "../../src/server/ops-port.ts";
import { rest } from "../support/clients/protocols.ts";
import { expectSuccess } from "../support/expectations.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server?.stop());

it("is ready while a command has the store locked: reads go on, and updates wait for it", async () => {
  const { key } = await server.store.mintKey();
  const other = new Sqlite(server.store.db);
  other.exec("BEGIN IMMEDIATE");
  const waiting = server.call(rest, "updateInventory", { petId: 7n, update: { quantity: 1n } }, { key });
  for (let probe = 0; probe < 3; probe++) {
    const answer = await fetch(`${server.opsOrigin}/readyz`);
    expect(await answer.text()).toBe("ready\n");
  }
  expectSuccess(await server.call(rest, "getPet", { petId: 7n }, { key }));
  other.exec("ROLLBACK");
  other.close();
  expectSuccess(await waiting);
});

/** Readiness by a store that answers until a test replaces its `ready`. */
function createProbe(canCountLimits = true) {
  const store = { ready: () => Promise.resolve() };
  const life = new AbortController();
  return { store, life, ask: createReadiness({ store, canCountLimits: () => canCountLimits, stopping: life.signal }) };
}

it("is ready where a lock was waited for in vain a moment ago, and another question is under way", async () => {
  const { store, life, ask } = createProbe();
  await ask();
  store.ready = async () => {
    await setTimeout(1_000);
    throw new Error("the store is locked");
  };
  const all = await Promise.all([0, 1_100, 1_600].map(async (ms) => [await setTimeout(ms), await ask()][1]));
  expect(all).toEqual(["ready", "ready", "ready"]);
  life.abort();
});

it("is not ready once the store has been silent for 6 s, though no probe has asked meanwhile", async () => {
  const { store, life, ask } = createProbe();
  await setTimeout(1_500);
  expect(await ask()).toBe("ready");
  store.ready = () => new Promise(() => {});
  await setTimeout(6_100);
  expect(await ask()).toBe("the store does not answer");
  life.abort();
  expect(await ask()).toBe("stopping");
});

it("names the store where neither it nor Valkey answers, and Valkey where the store does", async () => {
  const { store, life, ask } = createProbe(false);
  expect(await ask()).toBe("limits cannot be counted");
  store.ready = () => Promise.reject(new Error("no route to the host"));
  expect(await ask()).toBe("the store does not answer");
  life.abort();
});
