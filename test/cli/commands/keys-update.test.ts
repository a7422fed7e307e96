import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { hashSecret, type Key, newKey } from "../../../src/domain/key.ts";
import type { Store } from "../../../src/domain/store.ts";
import { openSqliteStore } from "../../../src/storage/sqlite/store.ts";
import { createFolder } from "../../support/folder.ts";
import { type CommandResult, petstore } from "../../support/petstore.ts";
import { petstoreHere } from "../../support/petstore-here.ts";
import { startServer, type TestServer } from "../../support/server.ts";

const id = "key_4kD0aT7uLw2QxYzB";

/** Creates a store with one key, in a new folder. */
async function createStore(settings: Partial<Key>): Promise<string> {
  const cwd = createFolder();
  const key = newKey({ id, name: "Old", plan: "free", createdAtMs: Date.now(), ...settings });
  await inStore(cwd, (store) => store.createKey(key, hashSecret("")));
  return cwd;
}

async function inStore<R>(cwd: string, use: (store: Store) => Promise<R>): Promise<R> {
  const store = openSqliteStore(join(cwd, "data/petstore.db"), { writesDirectly: true });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** The current state of the key of `createStore`. */
function readKey(cwd: string): Promise<Key | undefined> {
  return inStore(cwd, (store) => store.getKey(id));
}

/** Runs `petstore keys update` on the key of `createStore`, in this process unless a test is about several. */
function update(cwd: string, flags: string, run = petstoreHere): Promise<CommandResult> {
  return run(["keys", "update", id, ...flags.split(" ").filter(Boolean)], { cwd });
}

const enterprise = { plan: "enterprise", customQuota: { perMinute: 50, perDay: 1_000 } } as const;

describe("an update of a key", () => {
  it.for<[what: string, former: Partial<Key>, flags: string, says: string, changed: Partial<Key>]>([
    ["changes its name", {}, "--name New", `name "New" (was "Old")`, { name: "New" }],
    [
      "changes its plan",
      {},
      "--plan pro",
      "plan pro, 300 a minute and 10,000 a day (was free, 60 a minute and 1,000 a day)",
      { plan: "pro" },
    ],
    [
      "drops the numbers of an enterprise key on another plan",
      enterprise,
      "--plan business",
      "plan business, 1,000 a minute and 100,000 a day (was enterprise, 50 a minute and 1,000 a day)",
      { plan: "business", customQuota: undefined },
    ],
    [
      "takes both numbers to the enterprise plan",
      {},
      "--plan enterprise --per-minute 7 --per-day 9",
      "plan enterprise, 7 a minute and 9 a day (was free, 60 a minute and 1,000 a day)",
      { plan: "enterprise", customQuota: { perMinute: 7, perDay: 9 } },
    ],
    [
      "changes one number of an enterprise key",
      enterprise,
      "--per-minute 60",
      "plan enterprise, 60 a minute and 1,000 a day (was enterprise, 50 a minute and 1,000 a day)",
      { customQuota: { perMinute: 60, perDay: 1_000 } },
    ],
    [
      "changes the other number, too, though the plan be named",
      enterprise,
      "--plan enterprise --per-day 2000",
      "plan enterprise, 50 a minute and 2,000 a day (was enterprise, 50 a minute and 1,000 a day)",
      { customQuota: { perMinute: 50, perDay: 2_000 } },
    ],
    [
      "changes several things at once",
      { scopes: ["orders:read"] },
      "--name New --scope pets:read --scope inventory:read",
      `name "New" (was "Old"), scopes inventory:read, pets:read (was orders:read)`,
      { name: "New", scopes: ["inventory:read", "pets:read"] },
    ],
    [
      "lets it end never",
      { expiresAtMs: Date.UTC(2026, 5, 1, 12) },
      "--no-expiry",
      "expires never (was 2026-06-01 12:00:00Z)",
      { expiresAtMs: undefined },
    ],
  ])("%s", async ([, former, flags, says, changed]) => {
    const cwd = await createStore(former);
    const before = await readKey(cwd);
    expect(await update(cwd, flags)).toEqual({ code: 0, stdout: `updated ${id}: ${says}\n`, stderr: "" });
    expect(await readKey(cwd)).toEqual({ ...before, ...changed });
  });

  it("extends an expired key from now on", async () => {
    const cwd = await createStore({ expiresAtMs: Date.now() - 5_000 });
    const beforeMs = Date.now();
    const { stdout } = await update(cwd, "--expires-in 30d");
    expect(stdout).toMatch(/^updated key_\w+: expires \S+ \d\d:\d\d:\d\dZ \(was \S+ \d\d:\d\d:\d\dZ\)\n$/);
    const setAtMs = Number((await readKey(cwd))?.expiresAtMs) - 30 * 86_400_000;
    expect(setAtMs).toBeGreaterThanOrEqual(beforeMs);
    expect(setAtMs).toBeLessThanOrEqual(Date.now());
  });

  it("prints the key as 'keys list' does", async () => {
    const cwd = await createStore({});
    const { stdout } = await update(cwd, "--plan pro --json");
    expect(JSON.parse(stdout)).toMatchObject({ id, plan: "pro", minute: { limit: 300 } });
    expect([JSON.parse(stdout)]).toEqual(JSON.parse((await petstoreHere(["keys", "list", "--json"], { cwd })).stdout));
  });

  it("says that the key already has these settings", async () => {
    const cwd = await createStore({});
    const result = await update(cwd, "--plan free --name Old --no-expiry");
    expect(result).toEqual({ code: 0, stdout: `${id} already has these settings\n`, stderr: "" });
  });

  it("loses no update among several at the same time", async () => {
    const cwd = await createStore(enterprise);
    await Promise.all(["--name New", "--per-minute 70", "--per-day 80"].map((flags) => update(cwd, flags, petstore)));
    expect(await readKey(cwd)).toMatchObject({ name: "New", customQuota: { perMinute: 70, perDay: 80 } });
  });
});

const nothing = "nothing to update: give --name, --plan, --per-minute, --per-day, --scope, --expires-in or --no-expiry";
const needsBoth = "an enterprise key needs both --per-minute and --per-day";
const areFixed = (plan: string) => `the limits of the ${plan} plan are fixed: leave out --per-minute and --per-day`;
const isInvalid = (option: string, given: string, why: string) =>
  `option '${option}' argument '${given}' is invalid. ${why}`;
const scopeForm = "It must be one of inventory:read, inventory:write, pets:read, orders:read.";
const durationForm = "It must be a duration such as 30s, 15m, 24h or 30d, of a century at most, and not zero.";
const numberForm = "It must be a whole number from 1 to 999999999999999.";
const nameForm = "It must be 100 characters at most, with no line break or other control character.";
const planForm = "Allowed choices are free, pro, business, enterprise.";

describe("an update of a key that cannot be", () => {
  it.for<[flags: string, line: string, key?: Partial<Key>]>([
    ["", nothing],
    ["--json", nothing],
    ["--plan enterprise", needsBoth],
    ["--plan enterprise --per-minute 7", needsBoth],
    ["--plan enterprise --per-day 7 --name New", needsBoth],
    ["--name New --per-minute 7", areFixed("free")],
    ["--plan pro --per-day 7", areFixed("pro"), enterprise],
    ["--plan gold", isInvalid("--plan <plan>", "gold", planForm)],
    ["--per-minute 0", isInvalid("--per-minute <n>", "0", numberForm), enterprise],
    ["--per-day 1.5", isInvalid("--per-day <n>", "1.5", numberForm), enterprise],
    ["--per-day 1000000000000000", isInvalid("--per-day <n>", "1000000000000000", numberForm), enterprise],
    ["--scope pets:write", isInvalid("--scope <scope>", "pets:write", scopeForm)],
    ["--scope=", isInvalid("--scope <scope>", "", scopeForm)],
    ["--expires-in soon", isInvalid("--expires-in <duration>", "soon", durationForm)],
    ["--expires-in 0s", isInvalid("--expires-in <duration>", "0s", durationForm)],
    ["--expires-in 30d --no-expiry", "option '--no-expiry' cannot be used with option '--expires-in <duration>'"],
    ["--name=a\u0007b", isInvalid("--name <name>", "a\ufffdb", nameForm)],
    ["--colour red", "unknown option '--colour'"],
  ])("is refused, and changes nothing: keys update ID %s", async ([flags, line, former = {}]) => {
    const cwd = await createStore({ ...former, expiresAtMs: Date.now() + 3_600_000 });
    const before = await readKey(cwd);
    expect(await update(cwd, flags)).toEqual({ code: 2, stdout: "", stderr: `petstore: ${line}\n` });
    expect(await readKey(cwd)).toEqual(before);
  });

  it("is refused for a revoked key", async () => {
    const cwd = await createStore({ revokedAtMs: Date.UTC(2026, 5, 1, 12) });
    const line = `${id} was revoked on 2026-06-01 12:00:00Z, for good: create a new key`;
    expect(await update(cwd, "--name New")).toEqual({ code: 1, stdout: "", stderr: `petstore: ${line}\n` });
    expect(await readKey(cwd)).toMatchObject({ name: "Old" });
  });
});

/** Calls with a key. Returns the status, and the limits in the headers. */
async function ask(server: TestServer, key: string, path = "/v1/inventory?pageSize=1") {
  const response = await fetch(`${server.origin}${path}`, { headers: { Authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  const { headers, status } = response;
  const policy = headers.get("RateLimit-Policy")?.replaceAll(/;w=\d+/g, "");
  const left = headers.get("RateLimit")?.replaceAll(/;t=\d+/g, "");
  return {
    status,
    limit: headers.get("X-RateLimit-Limit"),
    remaining: headers.get("X-RateLimit-Remaining"),
    policy,
    left,
  };
}

/** Repeats a call for a second, and returns the first answer as expected. Reading the limits is free of charge. */
async function withinASecond(
  server: TestServer,
  key: string,
  isExpected: (answer: Awaited<ReturnType<typeof ask>>) => boolean,
  path = "/v1/limits",
) {
  const untilMs = Date.now() + 1_000;
  for (;;) {
    const isLast = Date.now() > untilMs;
    const answer = await ask(server, key, path);
    if (isLast || isExpected(answer)) {
      return answer;
    }
    await setTimeout(50);
  }
}

describe("an update of a key, on a running server", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.stop());

  it("takes effect within a second, and keeps the usage", async () => {
    const { id: keyId, key } = await server.store.mintQuota(50, 1_000);
    for (let count = 0; count < 10; count += 1) {
      await ask(server, key);
    }
    const change = (...flags: string[]) => server.store.run("keys", "update", keyId, ...flags);
    const policyOf = (minute: number, day: number) => `"minute";q=${minute}, "day";q=${day}`;
    const reaches = (expected: string) => (answer: { readonly policy?: string | undefined }) =>
      answer.policy === expected;

    await change("--per-minute", "30");
    expect(await withinASecond(server, key, reaches(policyOf(30, 1_000)))).toEqual({
      status: 200,
      limit: "30",
      remaining: "20",
      policy: policyOf(30, 1_000),
      left: `"minute";r=20, "day";r=990`,
    });
    await change("--plan", "business");
    expect(await withinASecond(server, key, reaches(policyOf(1_000, 100_000)))).toMatchObject({
      limit: "1000",
      remaining: "990",
      left: `"minute";r=990, "day";r=99990`,
    });
    await change("--plan", "enterprise", "--per-minute", "4", "--per-day", "12");
    expect(await withinASecond(server, key, reaches(policyOf(4, 12)))).toMatchObject({
      limit: "4",
      remaining: "0",
      left: `"minute";r=0, "day";r=2`,
    });
    expect(await ask(server, key)).toMatchObject({ status: 429, limit: "4", remaining: "0" });
    await change("--per-minute", "11");
    await withinASecond(server, key, reaches(policyOf(11, 12)));
    expect(await ask(server, key)).toMatchObject({ status: 200, left: `"minute";r=0, "day";r=1` });
    expect(await ask(server, key)).toMatchObject({ status: 429 });
  });

  it("applies changed scopes and ends within a second too", async () => {
    const { id: keyId, key } = await server.store.mintKey("--plan", "pro");
    const path = "/v1/inventory?pageSize=1";
    const reaches = (status: number) => withinASecond(server, key, (answer) => answer.status === status, path);
    expect(await ask(server, key, path)).toMatchObject({ status: 200 });
    await server.store.run("keys", "update", keyId, "--scope", "pets:read");
    expect(await reaches(403)).toMatchObject({ status: 403 });
    await server.store.run("keys", "update", keyId, "--scope", "inventory:read", "--expires-in", "1s");
    expect(await reaches(401)).toMatchObject({ status: 401 });
    await server.store.run("keys", "update", keyId, "--no-expiry");
    expect(await reaches(200)).toMatchObject({ status: 200 });
  });

  it("leaves a ban as it is", async () => {
    const { id: keyId, key } = await server.store.mintQuota(1, 100);
    for (let count = 0; count < 21; count += 1) {
      await ask(server, key);
    }
    await server.store.run("keys", "update", keyId, "--plan", "business");
    await setTimeout(1_000);
    expect(await ask(server, key)).toMatchObject({ status: 429, remaining: "0" });
    await server.end("SIGTERM");
    const store = openSqliteStore(server.store.db);
    onTestFinished(() => store.close());
    const banned = { minute: { count: 1 }, day: { count: 1 }, ban: { step: 1 } };
    expect(await store.loadUsage(keyId)).toMatchObject(banned);
  });
});
