import { writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { protocols } from "../support/clients/protocols.ts";
import { expectFailure, expectLimits } from "../support/expectations.ts";
import { importFixture } from "../support/fixture.ts";
import { type MintedKey, serve, type TestServer, TestStore } from "../support/server.ts";

/** A server whose clock is ahead, as far as a sunset, and which enforces it. */
describe("past the sunset, where it is enforced", () => {
  const store = new TestStore();
  let server: TestServer;
  let key: MintedKey;

  beforeAll(async () => {
    await importFixture(store.db);
    key = await store.mintQuota(1_000, 1_000);
    const clock = join(store.directory, "clock.mjs");
    writeFileSync(clock, `const now = Date.now; Date.now = () => now() + ${Date.parse("2027-06-01") - Date.now()};`);
    server = await serve(store, { flags: ["--enforce-sunset"], env: { NODE_OPTIONS: `--import=file://${clock}` } });
  });

  afterAll(() => server?.stop());

  it.each(protocols)("GetPet is answered ENDPOINT_SUNSET over $name", async (protocol) => {
    const outcome = await server.call(protocol, "getPet", { petId: 7n }, { key: key.key });
    expectFailure(outcome, "ENDPOINT_SUNSET");
    expectLimits(outcome.headers);
    expect(outcome.headers.get("sunset")).toBe("Tue, 01 Jun 2027 00:00:00 GMT");
  });
});

/** A server whose store is broken in a way that nobody foresaw. */
describe("when something fails that is not meant to", () => {
  const store = new TestStore();
  let server: TestServer;
  let key: MintedKey;

  beforeAll(async () => {
    await importFixture(store.db);
    key = await store.mintQuota(1_000, 1_000);
    server = await serve(store, { flags: ["--log-level", "silent"] });
    const database = new Database(store.db);
    database.exec("ALTER TABLE pets RENAME TO hidden_pets");
    database.close();
  });

  afterAll(() => server?.stop());

  it.each(protocols)("the answer over $name is INTERNAL, and says nothing of it", async (protocol) => {
    const outcome = await server.call(protocol, "getPet", { petId: 7n }, { key: key.key });
    expectFailure(outcome, "INTERNAL");
    expectLimits(outcome.headers);
    expect(outcome.failure?.message).not.toMatch(/pets|table|sqlite/i);
  });
});

/** A server whose store has lost its keys. */
describe("when keys cannot be looked up", () => {
  const store = new TestStore();
  let server: TestServer;
  let key: MintedKey;

  beforeAll(async () => {
    key = await store.mintQuota(1_000, 1_000);
    server = await serve(store, { flags: ["--log-level", "silent"] });
    const database = new Database(store.db);
    database.exec("ALTER TABLE secrets RENAME TO hidden_secrets");
    database.close();
  });

  afterAll(() => server?.stop());

  it.each(protocols)("the answer over $name is INTERNAL, with the limits of the address", async (protocol) => {
    const outcome = await server.call(protocol, "listInventory", {}, { key: key.key });
    expectFailure(outcome, "INTERNAL");
    expect(expectLimits(outcome.headers).limit).toBe(300);
  });
});
