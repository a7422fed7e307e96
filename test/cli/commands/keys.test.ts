import { setTimeout } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { expect, it, onTestFinished } from "vitest";
import { hashSecret } from "../../../src/domain/key.ts";
import { noUsage, type Usage } from "../../../src/domain/limits.ts";
import { openSqliteStore } from "../../../src/storage/sqlite/store.ts";
import { createFolder } from "../../support/folder.ts";
import { type CommandResult, petstore } from "../../support/petstore.ts";
import { petstoreHere } from "../../support/petstore-here.ts";
import { startServer } from "../../support/server.ts";
import { firstSave } from "../../support/usage-save.ts";

interface CreatedKey {
  readonly id: string;
  readonly key: string;
  readonly plan: string;
}

async function createKey(cwd: string, ...args: string[]): Promise<CreatedKey> {
  const { stdout } = await petstoreHere(["keys", "create", "--json", ...args], { cwd });
  return JSON.parse(stdout) as CreatedKey;
}

interface ListedKey {
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

async function listKeys(cwd: string, ...flags: string[]): Promise<ListedKey[]> {
  return JSON.parse((await petstoreHere(["keys", "list", "--json", ...flags], { cwd })).stdout);
}

it("creates a key in a missing store, and shows it once", async () => {
  const cwd = createFolder();
  const created = await petstore(["keys", "create", "--plan", "pro", "--name", "Till 3"], { cwd });
  expect(created.stdout).toMatch(
    /^psk_[0-9A-Za-z]{36}\n\nThis is the pro key key_\w+\. Keep it now: .* only once\.\n$/,
  );
  expect(created.stderr).toBe("petstore: created a new store, data/petstore.db\n");
  const { stdout } = await petstoreHere(["keys", "list"], { cwd });
  expect(stdout).toMatch(/^ID +NAME +PLAN +DAY +LAST USED +STATE\nkey_\w+ +Till 3 +pro +0\/10k +- +live\n$/);
  expect(stdout).not.toContain(created.stdout.slice(0, 40));
});

it("lists what was asked for", async () => {
  const cwd = createFolder();
  const flags = ["--plan", "enterprise", "--per-minute", "50", "--per-day", "10", "--expires-in", "30d", "--name", "N"];
  const { id, plan } = await createKey(cwd, ...flags, "--scope", "pets:read", "--scope", "inventory:read");
  expect(plan).toBe("enterprise");
  const [listed] = await listKeys(cwd);
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(listed).toEqual({
    id,
    name: "N",
    plan: "enterprise",
    scopes: ["inventory:read", "pets:read"],
    createdAt: time,
    expiresAt: time,
    lastUsedAt: null,
    revokedAt: null,
    minute: { limit: 50, used: 0, remaining: 50, resetAt: null },
    day: { limit: 10, used: 0, remaining: 10, resetAt: null },
    strikes: { limit: 50, used: 0, remaining: 50, resetAt: null },
    ban: null,
    deprecatedCalls: [],
  });
  expect(Date.parse(String(listed?.expiresAt)) - Date.parse(String(listed?.createdAt))).toBe(30 * 86_400_000);
});

it("keeps the id of a key that rotates, and its old secret for the grace period", async () => {
  const cwd = createFolder();
  const first = await createKey(cwd, "--plan", "free");
  const beforeMs = Date.now();
  const { stdout } = await petstoreHere(["keys", "rotate", first.id, "--grace", "1h", "--json"], { cwd });
  const second = JSON.parse(stdout) as CreatedKey;
  expect(second).toEqual({ id: first.id, key: expect.stringMatching(/^psk_/), plan: "free" });
  const store = openSqliteStore(`${cwd}/data/petstore.db`, { writesDirectly: true });
  const found = await Promise.all([first, second].map(({ key }) => store.findKey(hashSecret(key))));
  await store.close();
  expect(found.map((each) => each?.key.id)).toEqual([first.id, first.id]);
  expect(found[0]?.endsAtMs).toBeGreaterThanOrEqual(beforeMs + 3_600_000);
  expect(found[1]?.endsAtMs).toBe(Infinity);
});

it("revokes a key for good, and says when it was revoked already", async () => {
  const cwd = createFolder();
  const { id } = await createKey(cwd, "--plan", "free");
  const outcome = (stdout: string) => ({ code: 0, stdout, stderr: "" });
  expect(await petstoreHere(["keys", "revoke", id], { cwd })).toEqual(outcome(`revoked ${id}\n`));
  const [{ revokedAt } = {}] = await listKeys(cwd, "--all");
  expect(revokedAt).toEqual(expect.any(String));
  const revokedOn = `${String(revokedAt).slice(0, 19).replace("T", " ")}Z`;
  const again = await petstoreHere(["keys", "revoke", id], { cwd });
  expect(again).toEqual(outcome(expect.stringMatching(`^${id} was already revoked, on ${revokedOn}\n$`)));
  expect((await listKeys(cwd, "--all"))[0]?.revokedAt).toBe(revokedAt);
  for (const [command, advice] of [
    ["rotate", "create a new key"],
    ["unban", "there is no ban to lift"],
  ] as const) {
    expect(await petstoreHere(["keys", command, id], { cwd })).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(`^petstore: ${id} was revoked on ${revokedOn}, for good: ${advice}\n$`),
    });
  }
});

it("says how long the old secrets of a rotated key work", async () => {
  const cwd = createFolder();
  const { id } = await createKey(cwd, "--plan", "free");
  const later = await petstoreHere(["keys", "rotate", id, "--grace", "1h"], { cwd });
  expect(later.stdout).toMatch(/\nOld secrets work until \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ\.\n$/);
  const shown = await petstoreHere(["keys", "show", id], { cwd });
  expect(shown.stdout).toMatch(/\nold secret {2}works until \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ, in (1h|59m \d+s)\n/);
  const json = JSON.parse((await petstoreHere(["keys", "show", id, "--json"], { cwd })).stdout);
  expect(json.oldSecrets).toEqual([{ expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) }]);
  const now = await petstoreHere(["keys", "rotate", id, "--grace", "0s"], { cwd });
  expect(now.stdout).toMatch(/\nOld secrets no longer work\.\n$/);
  expect((await petstoreHere(["keys", "show", id], { cwd })).stdout).not.toContain("old secret");
});

it("names no end of an old secret that is later than the key's own, and none of a revoked key", async () => {
  const cwd = createFolder();
  const { id } = await createKey(cwd, "--plan", "free", "--expires-in", "1h");
  const [{ expiresAt } = {}] = await listKeys(cwd);
  const rotation = await petstoreHere(["keys", "rotate", id, "--grace", "24h"], { cwd });
  expect(rotation.stdout).toMatch(`\nOld secrets work until ${String(expiresAt).slice(0, 19).replace("T", " ")}Z.\n`);
  const show = async () => JSON.parse((await petstoreHere(["keys", "show", id, "--json"], { cwd })).stdout);
  expect(await show()).toMatchObject({ oldSecrets: [{ expiresAt }] });
  await petstoreHere(["keys", "revoke", id], { cwd });
  expect(await show()).toMatchObject({ oldSecrets: [] });
  expect((await petstoreHere(["keys", "show", id], { cwd })).stdout).not.toContain("old secret");
});

it("prints no secret for a key that is revoked while it is rotated", async () => {
  const cwd = createFolder();
  const { id } = await createKey(cwd, "--plan", "free");
  const [rotation] = await Promise.all([
    petstore(["keys", "rotate", id, "--json"], { cwd }),
    petstore(["keys", "revoke", id], { cwd }),
  ]);
  const secret = rotation.code === 0 ? (JSON.parse(rotation.stdout) as CreatedKey).key : undefined;
  const store = openSqliteStore(`${cwd}/data/petstore.db`, { writesDirectly: true });
  const found = secret && (await store.findKey(hashSecret(secret)));
  await store.close();
  expect(secret === undefined ? rotation.stdout : found).toEqual(secret === undefined ? "" : expect.anything());
});

it("lists revoked keys only with --all", async () => {
  const cwd = createFolder();
  const [one, two] = [await createKey(cwd, "--plan", "free"), await createKey(cwd, "--plan", "pro")];
  await petstoreHere(["keys", "revoke", one.id], { cwd });
  expect(await listKeys(cwd)).toMatchObject([{ id: two.id, revokedAt: null }]);
  expect(await listKeys(cwd, "--all")).toMatchObject([{ id: one.id, revokedAt: expect.any(String) }, { id: two.id }]);
  const { stdout } = await petstoreHere(["keys", "list"], { cwd });
  expect(stdout).not.toContain(one.id);
  expect(stdout).toMatch(/\n\n1 revoked key is not shown; --all shows them too\.\n$/);
  const all = await petstoreHere(["keys", "list", "--all"], { cwd });
  expect(all.stdout).toMatch(new RegExp(`^${one.id} .* revoked \\d+s ago$`, "m"));
  expect(all.stdout).not.toContain("not shown");
});

it("lists keys that have expired, and says so", async () => {
  const cwd = createFolder();
  const { id } = await createKey(cwd, "--plan", "free", "--expires-in", "1s");
  await setTimeout(1_000);
  expect((await petstoreHere(["keys", "list"], { cwd })).stdout).toMatch(
    new RegExp(`^${id} .* expired \\d+s ago$`, "m"),
  );
  expect((await petstoreHere(["keys", "rotate", id], { cwd })).stderr).toBe(
    `petstore: ${id} has expired: extend it first, with 'petstore keys update ${id} --expires-in 30d'\n`,
  );
});

/** What `keys unban` prints for a key that has no ban in the store. */
function noSavedBan(id: string): string {
  return `${id} had no saved ban; its count of refusals is cleared, and a ban that is not saved yet is lifted\n`;
}

it("unbans a key, and says when the store had no ban", async () => {
  const cwd = createFolder();
  const { id } = await createKey(cwd, "--plan", "free");
  const unban = () => petstoreHere(["keys", "unban", id], { cwd });
  expect(await unban()).toEqual({ code: 0, stdout: noSavedBan(id), stderr: "" });
  const store = openSqliteStore(`${cwd}/data/petstore.db`, { writesDirectly: true });
  const ban = { step: 1, endsAtMs: Date.now() + 600_000 };
  await store.saveUsage(firstSave({ keyId: id, usage: { ...noUsage, ban, unbans: 1 }, lastUsedAtMs: 0 }));
  expect(await unban()).toEqual({ code: 0, stdout: `unbanned ${id}\n`, stderr: "" });
  expect(await unban()).toEqual({ code: 0, stdout: noSavedBan(id), stderr: "" });
  const key = await store.getKey(id);
  await store.close();
  expect(key?.unbans).toBe(3);
});

it("clears the refusals of a key that is not banned, and says so", async () => {
  const cwd = createFolder();
  const { id } = await createKey(cwd, "--plan", "free");
  const store = openSqliteStore(`${cwd}/data/petstore.db`, { writesDirectly: true });
  const refusals = { openedAtMs: Date.now(), count: 5 };
  await store.saveUsage(firstSave({ keyId: id, usage: { ...noUsage, refusals }, lastUsedAtMs: 0 }));
  await store.close();
  const refusalsShown = async () =>
    /^refusals +\S+/m.exec((await petstoreHere(["keys", "show", id], { cwd })).stdout)?.[0];
  expect(await refusalsShown()).toMatch(/ 5$/);
  expect((await petstoreHere(["keys", "unban", id], { cwd })).stdout).toBe(noSavedBan(id));
  expect(await refusalsShown()).toMatch(/ 0$/);
});

it.for<[name: string, text: string]>([
  ["too long", "x".repeat(101)],
  ["of two lines", "Till\n3"],
  ["with a control sequence", "\u001b[2JTill"],
  ["with a control sequence of one byte", "\u009b2JTill"],
])("refuses a name that is %s", async ([, text]) => {
  const cwd = createFolder();
  const { code, stdout, stderr } = await petstoreHere(["keys", "create", "--plan", "free", "--name", text], { cwd });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(
    /^petstore: option '--name <name>' argument '.*' is invalid\. It must be 100 characters at most, .*\.\n$/,
  );
  expect(stderr).not.toMatch(/[^\P{C}\n]/u);
});

it("accepts a name of 100 characters of any size", async () => {
  const cwd = createFolder();
  await createKey(cwd, "--plan", "free", "--name", "🐈".repeat(100));
  expect(await listKeys(cwd)).toMatchObject([{ name: "🐈".repeat(100) }]);
});

it("shows the names of a hostile backup's keys, and obeys none", async () => {
  const cwd = createFolder();
  await createKey(cwd, "--plan", "free");
  const hostile = "key_\u001b[2J\u009b2J\nx\u202e";
  new Sqlite(`${cwd}/data/petstore.db`)
    .exec(`PRAGMA foreign_keys = OFF; UPDATE keys SET id = '${hostile}', name = '${hostile}', scopes = '["x"]'`)
    .exec(`UPDATE secrets SET key_id = '${hostile}'`)
    .close();
  const shown = "key_�[2J�2J�x�";
  const outputs: CommandResult[] = [];
  for (const command of [
    "check",
    "keys list --json",
    "keys unban",
    "keys show",
    "keys list",
    "keys revoke",
    "keys revoke",
  ]) {
    const args = [...command.split(" "), ...(/unban|revoke|show/.test(command) ? [hostile] : [])];
    outputs.push(await petstoreHere(args, { cwd }));
  }
  const text = outputs.map(({ stdout, stderr }) => stdout + stderr).join("");
  expect(text).not.toMatch(/[^\P{C}\n]/u);
  expect(text).toContain(`key ${shown}: it has an unknown scope, or its scopes are no list\n`);
  expect(text).toContain(noSavedBan(shown));
  expect(text).toContain(`${shown} was already revoked, on `);
  expect(text).toContain(`name       ${shown}\n`);
  expect(text).toContain(`revoked ${shown}\n`);
  expect(JSON.parse(outputs[1]?.stdout ?? "")).toMatchObject([{ id: hostile, name: hostile }]);
});

it.for(["revoke", "rotate", "unban", "show", "update --name N"])("refuses unknown ids: keys %s", async (command) => {
  const cwd = createFolder();
  await createKey(cwd, "--plan", "free");
  expect(await petstoreHere(["keys", ...command.split(" "), "key_x"], { cwd })).toEqual({
    code: 1,
    stdout: "",
    stderr: `petstore: there is no key "key_x"; 'petstore keys list --all' lists all keys\n`,
  });
});

it.for(["revoke", "rotate", "unban", "show", "update --name N"])(
  "does not repeat a secret: keys %s",
  async (command) => {
    const cwd = createFolder();
    const { key } = await createKey(cwd, "--plan", "free");
    expect(await petstoreHere(["keys", ...command.split(" "), key], { cwd })).toEqual({
      code: 1,
      stdout: "",
      stderr: "petstore: a key is named by its id, not by its secret; 'petstore keys list --all' lists all keys\n",
    });
  },
);

it("lists what each key has used, its ban, and who calls deprecated operations", async () => {
  const cwd = createFolder();
  const [banned, caller] = [
    await createKey(cwd, "--plan", "pro"),
    await createKey(cwd, "--plan", "free", "--name", "Old"),
  ];
  const nowMs = Date.now();
  const usage: Usage = {
    ...noUsage,
    minute: { openedAtMs: nowMs - 5_000, count: 12 },
    day: { openedAtMs: nowMs - 3_600_000, count: 340 },
  };
  const store = openSqliteStore(`${cwd}/data/petstore.db`, { writesDirectly: true });
  const ban = { step: 3, endsAtMs: nowMs + 630_000 };
  await store.saveUsage(
    firstSave(
      { keyId: banned.id, usage: { ...usage, ban }, lastUsedAtMs: nowMs },
      { keyId: caller.id, usage, lastUsedAtMs: nowMs, deprecatedCalls: new Map([["a.B/Get", nowMs]]) },
    ),
  );
  await store.close();

  const { stdout } = await petstoreHere(["keys", "list"], { cwd });
  const [, first, second, ...rest] = stdout.split("\n");
  expect(first).toMatch(/ 340\/10k +\d+s ago +banned for 11m$/);
  expect(second).toMatch(/ 340\/1k +\d+s ago +live$/);
  expect(rest.join("\n")).toMatch(
    /^\nDeprecated operations that are still called:\n\nID +NAME +OPERATION +LAST CALLED\nkey_\w+ +Old +a\.B\/Get +\d+s ago\n$/,
  );
  expect(await listKeys(cwd)).toMatchObject([
    { minute: { used: 12, resetAt: formatTime(nowMs + 55_000) }, ban: { endsAt: formatTime(ban.endsAtMs), step: 3 } },
    { day: { used: 340 }, ban: null, deprecatedCalls: [{ operation: "a.B/Get", lastCalledAt: formatTime(nowMs) }] },
  ]);
});

function formatTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

it("shows all columns in its wide form", async () => {
  const cwd = createFolder();
  await createKey(cwd, "--plan", "free", "--scope", "pets:read", "--expires-in", "30d");
  const { stdout } = await petstoreHere(["keys", "list", "--wide"], { cwd });
  expect(stdout).toMatch(/^ID +NAME +PLAN +SCOPES +CREATED +EXPIRES +MINUTE +DAY +LAST USED +STATE\n/);
  expect(stdout).toMatch(/ pets:read +\S+ \d\d:\d\d:\d\dZ +\S+ \d\d:\d\d:\d\dZ +0\/60 .* ends in \d\dd\n$/);
});

it("shows all of one key", async () => {
  const cwd = createFolder();
  const flags = ["--plan", "enterprise", "--per-minute", "50", "--per-day", "1000", "--name", "Till 3"];
  const { id } = await createKey(cwd, ...flags, "--scope", "pets:read", "--expires-in", "30d");
  const nowMs = Date.now();
  const store = openSqliteStore(`${cwd}/data/petstore.db`, { writesDirectly: true });
  const usage: Usage = {
    ...noUsage,
    day: { openedAtMs: nowMs - 30_000, count: 7 },
    ban: { step: 3, endsAtMs: nowMs + 630_000 },
  };
  const deprecatedCalls = new Map([["petstore.v1.PetService/GetPet", nowMs]]);
  await store.saveUsage(firstSave({ keyId: id, usage, lastUsedAtMs: nowMs, deprecatedCalls }));
  await store.close();
  const { stdout } = await petstoreHere(["keys", "show", id], { cwd });
  const time = "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\dZ";
  const lines = [
    `id          ${id}`,
    "name        Till 3",
    "state       banned for 11m",
    "plan        enterprise, 50 a minute and 1,000 a day",
    "scopes      pets:read",
    `created     ${time}`,
    `expires     ${time}`,
    `last used   ${time}, \\d+s ago`,
    "minute      0 of 50",
    "day         7 of 1,000, resets in 1d",
    "refusals    0 of 50; at 50 the key is banned",
    `ban         until ${time}, in 10m \\d+s; step 3`,
    `deprecated  petstore\\.v1\\.PetService/GetPet, called ${time}, \\d+s ago`,
  ];
  expect(stdout).toMatch(new RegExp(`^${lines.join("\n")}\n$`));
  const { stdout: json } = await petstoreHere(["keys", "show", id, "--json"], { cwd });
  expect(JSON.parse(json)).toEqual({ ...(await listKeys(cwd))[0], oldSecrets: [] });
  await petstoreHere(["keys", "revoke", id], { cwd });
  expect((await petstoreHere(["keys", "show", id], { cwd })).stdout).toMatch(/\nstate {7}revoked \d+s ago\n/);
});

it("knows which keys call deprecated operations on a running server, and no others", async () => {
  const server = await startServer();
  onTestFinished(() => server.stop());
  const [caller, other] = [await server.store.mintKey(), await server.store.mintKey()];
  const get = (path: string, { key }: { key: string }) =>
    fetch(`${server.origin}${path}`, { headers: { Authorization: `Bearer ${key}` } });
  expect((await get("/v1/pets/7", caller)).status).toBe(200);
  expect((await get("/v1/inventory", other)).status).toBe(200);
  await server.end("SIGTERM");
  expect(JSON.parse(await server.store.run("keys", "list", "--json"))).toMatchObject([
    { minute: { used: 1 }, deprecatedCalls: [{ operation: "petstore.v1.PetService/GetPet" }] },
    { minute: { used: 1 }, deprecatedCalls: [] },
  ]);
});
