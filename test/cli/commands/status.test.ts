import { once } from "node:events";
import { realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, it, onTestFinished, vi } from "vitest";
import { formatServers, formatStatus } from "../../../src/cli/print/status.ts";
import type { ServerStatus } from "../../../src/domain/server-status.ts";
import { createFolder } from "../../support/folder.ts";
import { petstore, startPetstore } from "../../support/petstore.ts";
import { petstoreHere } from "../../support/petstore-here.ts";
import { startServer } from "../../support/server.ts";

const status: ServerStatus = {
  version: "1.2.3",
  startedAt: "2026-06-01T00:00:00.000Z",
  url: "http://127.0.0.1:8080",
  opsUrl: "http://127.0.0.1:9090",
  ready: true,
  db: { path: "/data/petstore.db", fileBytes: 12_582_912, walBytes: 0, lastBackupAt: "2026-05-31T22:30:00.000Z" },
  calls: { total: 12_345, perSecond1m: 3.25, failed: 2 },
  limits: { admitted: 12_000, refused: 40, banned: 5 },
  streams: { open: 1_042, most: 8_192, keysAtMost: 2, refused: 7 },
  webhooks: { active: 3, failing: 1, paused: 2, lagSeconds: 7_321.5 },
  keys: { byPlan: { free: 3, pro: 1 } },
  logLevel: "info",
};

/** Answers every request with a text until the test ends. */
async function serveText(answer: string, code = 200): Promise<string> {
  const server = createServer((request, response) => {
    response.writeHead(request.url === "/status" ? code : 404).end(answer);
  });
  return listen(server);
}

/** Listens until the test ends, by default on a free port. */
async function listen(server: Server, port = 0): Promise<string> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("shows a server at a glance", () => {
  expect(formatStatus(status, Date.parse("2026-06-01T03:12:07.000Z"))).toBe(
    `petstore   1.2.3, up 3h 12m, ready
api        http://127.0.0.1:8080
operator   http://127.0.0.1:9090
store      /data/petstore.db
size       12.0 MiB, log 0 bytes
backup     2026-05-31 22:30:00Z, 4h ago
calls      12,345, 3.3/s in the last minute, 2 failed
limits     12,000 admitted, 40 refused, 5 banned
streams    1,042 of 8,192 open, 2 keys have all they may, 7 refused
webhooks   3 active, 1 failing, 2 paused, 2h 2m behind
keys       free 3, pro 1
log level  info
`,
  );
});

it("shows an older server, which tells of no streams and webhooks", () => {
  const { streams: _streams, webhooks: _webhooks, ...older } = status;
  expect(formatStatus(older, 0)).not.toMatch(/streams|webhooks/);
});

it.each<[what: string, db: ServerStatus["db"], lines: string[]]>([
  [
    "that was never backed up",
    { path: "a", fileBytes: 1, walBytes: 2, freeBytes: 3_221_225_472, lastBackupAt: null },
    ["store      a", "size       1 byte, log 2 bytes, 3.0 GiB free on its disk", "backup     none yet"],
  ],
  [
    "that does not answer",
    { path: "a", error: "the store does not answer" },
    ["store      a", "error      the store does not answer", "backup     unknown"],
  ],
  [
    "in PostgreSQL",
    { path: "postgres://a" },
    ["store      postgres://a", "backup     by pg_dump or point-in-time recovery"],
  ],
])("shows a store %s", (_what, db, expected) => {
  const lines = formatStatus({ ...status, db }, 0).split("\n");
  expect(lines.slice(3, 3 + expected.length)).toEqual(expected);
});

it("fits 80 columns, with a long path and large numbers", () => {
  const path = `/var/lib/docker/volumes/${"x".repeat(30)}/petstore.db`;
  const db = { path, fileBytes: 1_000 * 2 ** 20, walBytes: 1_000 * 2 ** 20, freeBytes: 1_000 * 2 ** 30 };
  const limits = { admitted: 1e9, refused: 1e9, banned: 1e9 };
  const streams = { open: 8_192, most: 8_192, keysAtMost: 1_000, refused: 1_000_000 };
  const lines = formatStatus({ ...status, db, limits, streams }, 0).split("\n");
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});

it.each<[what: string, error: string | undefined, shown: string]>([
  ["none, where there are none", undefined, "none"],
  ["not known, while the store does not answer", "the store does not answer", "not known"],
])("shows the keys as %s", (_what, error, shown) => {
  const db = { path: "a", ...(error !== undefined && { error }) };
  expect(formatStatus({ ...status, db, keys: { byPlan: {} } }, 0)).toMatch(new RegExp(`^keys +${shown}$`, "m"));
});

it("shows the servers that share a database", () => {
  const servers = [
    { id: "a", version: "0.4.0", startedAt: "2026-06-01T00:00:00.000Z", lastSeenAt: "2026-06-01T03:12:06.000Z" },
    { id: "b", version: "0.10.0", startedAt: "2026-05-30T23:59:00.000Z", lastSeenAt: "2026-06-01T02:12:06.000Z" },
  ];
  expect(formatServers(servers, Date.parse("2026-06-01T03:12:07.000Z"))).toBe(
    `ID  VERSION  STARTED               LAST SEEN
a   0.4.0    2026-06-01 00:00:00Z  1s ago
b   0.10.0   2026-05-30 23:59:00Z  1h ago
`,
  );
  expect(formatServers([], 0)).toBe("There are no servers.\n");
});

it("prints the answer of a newer server with all of its fields", async () => {
  const answer = { ...status, more: 1 };
  const opsUrl = await serveText(JSON.stringify(answer));
  const { stdout } = await petstoreHere(["status", "--ops-url", opsUrl, "--json"]);
  expect(JSON.parse(stdout)).toEqual(answer);
});

it("shows a running server", async () => {
  const server = await startServer();
  onTestFinished(() => server.stop());
  const { key } = await server.store.mintKey("--plan", "pro");
  await fetch(`${server.origin}/v1/inventory`, { headers: { Authorization: `Bearer ${key}` } });
  const { stdout } = await petstore(["status", "--ops-url", server.opsOrigin]);
  expect(stdout).toMatch(/^petstore {3}\S+, up \d+s, ready\n/);
  expect(stdout).toContain(
    `\napi        ${server.origin}\noperator   ${server.opsOrigin}\nstore      ${server.store.db}\nsize       `,
  );
  expect(stdout).toContain("\nbackup     none yet\n");
  expect(stdout).toMatch(
    /\ncalls {6}1, \d\.\d\/s in the last minute, 0 failed\nlimits {5}1 admitted, 0 refused, 0 banned\nstreams {4}0 of 8,192 open, 0 refused\nwebhooks {3}0 active, 0 failing, 0 paused\n/,
  );
  expect(stdout).toMatch(/\nkeys {7}.*pro 1.*\nlog level {2}info\n$/);
});

it("asks the operator port of the settings", async () => {
  const port = new URL(await serveText(JSON.stringify(status))).port;
  const env = { PETSTORE_OPS_PORT: port, PETSTORE_OPS_HOST: "0.0.0.0" };
  expect((await petstoreHere(["status"], { env })).stdout).toContain("petstore   1.2.3, up ");
});

it("asks the operator host of the settings, whatever its name", async () => {
  const env = { PETSTORE_OPS_PORT: "1", PETSTORE_OPS_HOST: "constructor" };
  const { code, stderr } = await petstoreHere(["status"], { env });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^petstore: no server answers at http:\/\/constructor:1: .*\n$/);
});

it("asks no server about a store that is missing", async () => {
  const port = new URL(await serveText(JSON.stringify(status))).port;
  const cwd = createFolder();
  const run = (args: string[], env: Record<string, string> = {}) => petstoreHere(["status", ...args], { cwd, env });
  const ofPort = { PETSTORE_OPS_PORT: port };
  for (const args of [
    ["--db", "missing.db"],
    ["--database", "sqlite:missing.db"],
  ]) {
    const missing = { code: 1, stdout: "", stderr: "petstore: missing.db: there is no such store\n" };
    expect(await run(args, ofPort)).toEqual(missing);
    expect(await run([...args, "--ops-port", port])).toEqual(missing);
    expect(await run([...args, "--ops-url", `http://127.0.0.1:${port}`])).toEqual(missing);
  }
  // A server's own settings, asked from another folder.
  expect((await run([], { ...ofPort, PETSTORE_DB: "missing.db" })).code).toBe(0);
  writeFileSync(join(cwd, "petstore.yaml"), `db: missing.db\nops-port: ${port}\n`);
  expect((await run(["--config", "petstore.yaml"])).code).toBe(0);
});

it.for<[what: string, path: string, isOther: boolean]>([
  ["another file", "other.db", true],
  ["a database", "postgres://db.example/petstore", true],
  ["the file", "own.db", false],
  ["the file by another name", "link.db", false],
  ["a file that this machine does not have, as in a container", "missing.db", false],
])("tells of a server of another store than that of --db: %s", async ([, path, isOther]) => {
  const cwd = createFolder();
  for (const name of ["own.db", "other.db"]) {
    writeFileSync(join(cwd, name), "");
  }
  symlinkSync("own.db", join(cwd, "link.db"));
  const served = path.includes(":") ? path : join(cwd, path);
  const opsUrl = await serveText(JSON.stringify({ ...status, db: { path: served } }));
  const env = { PETSTORE_OPS_PORT: new URL(opsUrl).port };
  const run = (args: string[], more = {}) => petstoreHere(["status", ...args], { cwd, env: { ...env, ...more } });
  const stderr = `petstore: the server at ${opsUrl} serves another store: ${served}\n`;
  for (const args of [
    ["--db", "own.db"],
    ["--database", "sqlite:own.db", "--json"],
    ["--db", "own.db", "--ops-url", opsUrl],
    ["--db", "own.db", "--ops-port", env.PETSTORE_OPS_PORT],
  ]) {
    expect(await run(args)).toMatchObject(isOther ? { code: 1, stdout: "", stderr } : { code: 0, stderr: "" });
  }
  // A server's own settings.
  expect((await run([], { PETSTORE_DB: "own.db" })).code).toBe(0);
});

it("does not judge the relative path of an older server", async () => {
  const cwd = createFolder();
  for (const name of ["own.db", "other.db"]) {
    writeFileSync(join(cwd, name), "");
  }
  const { port } = new URL(await serveText(JSON.stringify({ ...status, db: { path: "other.db" } })));
  const env = { PETSTORE_OPS_PORT: port };
  expect((await petstoreHere(["status", "--db", "own.db"], { cwd, env })).code).toBe(0);
});

it("shows the whole path of the file that a server serves", async () => {
  const cwd = realpathSync(createFolder());
  const server = startPetstore(["serve", "--db", "own.db", "--port", "0", "--ops-port", "0"], { cwd });
  onTestFinished(async () => void (await server.end("SIGTERM")));
  await server.nextLine();
  const opsUrl = /http:\S+/.exec((await server.nextLine()) ?? "")?.[0] ?? "";
  const { stdout } = await petstoreHere(["status", "--ops-url", opsUrl, "--json"]);
  expect(JSON.parse(stdout).db.path).toBe(join(cwd, "own.db"));
});

it("asks on a port that browsers block", async () => {
  // Source: https://fetch.spec.whatwg.org/#port-blocking
  const opsUrl = await listen(
    createServer((_request, response) => response.end(JSON.stringify(status))),
    10_080,
  );
  expect((await petstoreHere(["status", "--ops-url", opsUrl])).stdout).toContain("petstore   1.2.3, up ");
});

it.for<[what: string, answer: string, code: number]>([
  ["a page", "<html>", 200],
  ["other JSON", "{}", 200],
  ["JSON that lacks fields", JSON.stringify({ ...status, limits: {} }), 200],
  ["an error", JSON.stringify(status), 404],
])("refuses another answer: %s", async ([, answer, code]) => {
  const opsUrl = await serveText(answer, code);
  expect(await petstoreHere(["status", "--ops-url", opsUrl])).toEqual({
    code: 1,
    stdout: "",
    stderr: `petstore: what answers at ${opsUrl} is not the operator port of a petstore server\n`,
  });
});

it("stops reading an answer that does not end", async () => {
  const endless = function* () {
    for (;;) {
      yield " ".repeat(65_536);
    }
  };
  const opsUrl = await listen(createServer((_request, response) => void Readable.from(endless()).pipe(response)));
  expect(await petstoreHere(["status", "--ops-url", opsUrl])).toEqual({
    code: 1,
    stdout: "",
    stderr: `petstore: what answers at ${opsUrl} is not the operator port of a petstore server\n`,
  });
});

it("waits a few seconds for the end of an answer", async () => {
  const startTimeout = AbortSignal.timeout.bind(AbortSignal);
  // Each second takes 50 ms.
  const started = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => startTimeout(ms / 20));
  onTestFinished(() => started.mockRestore());
  const opsUrl = await listen(createServer((_request, response) => void response.write("{")));
  expect(await petstoreHere(["status", "--ops-url", opsUrl])).toEqual({
    code: 1,
    stdout: "",
    stderr: `petstore: no server answers at ${opsUrl}: The operation was aborted due to timeout\n`,
  });
  expect(started.mock.calls).toEqual([[5_000]]);
});

it("follows no redirect", async () => {
  const other = await serveText(JSON.stringify(status));
  const opsUrl = await listen(
    createServer((_request, response) => void response.writeHead(302, { location: `${other}/status` }).end()),
  );
  expect((await petstoreHere(["status", "--ops-url", opsUrl])).code).toBe(1);
});

it("says that no server answers", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  expect(await petstoreHere(["status", "--ops-port", String(port)], { cwd: createFolder() })).toEqual({
    code: 1,
    stdout: "",
    stderr: `petstore: no server answers at http://127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}\n`,
  });
});

it.for(["nowhere", "ftp://127.0.0.1", "127.0.0.1:9090"])("refuses an address other than HTTP: %s", async (opsUrl) => {
  expect(await petstore(["status", "--ops-url", opsUrl])).toEqual({
    code: 2,
    stdout: "",
    stderr: `petstore: "${opsUrl}" is not an HTTP address such as http://127.0.0.1:9090\n`,
  });
});
