import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { createCertificate } from "../../support/certificate.ts";
import { createFolder } from "../../support/folder.ts";
import { petstore, type Running, type Surroundings, startPetstore } from "../../support/petstore.ts";

const freePorts = ["--port", "0", "--ops-port", "0", "--log-level", "silent"];

/** Serves on free ports until the end of the test. */
function startServe(flags: readonly string[], surroundings: Surroundings): Running {
  const running = startPetstore(["serve", ...freePorts, ...flags], surroundings);
  onTestFinished(async () => void (await running.end("SIGKILL")));
  return running;
}

function portOf(line: string | undefined): string {
  return /^petstore listening on http:\/\/127\.0\.0\.1:(\d+)$/.exec(line ?? "")?.[1] ?? "none";
}

it("says where it listens, and ends with 0 on SIGTERM", async () => {
  const server = startServe([], { cwd: createFolder() });
  expect(portOf(await server.nextLine())).not.toBe("none");
  const operatorLine = (await server.nextLine()) ?? "";
  expect(operatorLine).toMatch(/^petstore operator port on http:\/\/127\.0\.0\.1:\d+$/);
  expect((await fetch(`${operatorLine.split(" ").at(-1)}/readyz`)).status).toBe(200);
  expect(await server.end("SIGTERM")).toBe(0);
});

it.for<[cert: string, key: string, failure: string]>([
  ["empty.pem", "key.pem", "use empty.pem for TLS: no certificate in PEM"],
  ["key.pem", "key.pem", "use key.pem for TLS: no certificate in PEM"],
  ["cert.pem", "cert.pem", "use cert.pem for TLS: no private key in PEM"],
  ["cert.pem", "other.pem", "use cert.pem with other.pem for TLS: the key is not that of the certificate"],
  ["cert.pem", "locked.pem", "use locked.pem for TLS: the key is encrypted; give one without a passphrase"],
  ["folder", "key.pem", "read folder: it is a folder"],
])("refuses the certificate %s with the key %s", async ([cert, key, failure]) => {
  const cwd = createFolder();
  createCertificate(cwd);
  const encoding = { type: "pkcs8", format: "pem" } as const;
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  writeFileSync(join(cwd, "empty.pem"), "");
  writeFileSync(join(cwd, "other.pem"), privateKey.export(encoding));
  writeFileSync(join(cwd, "locked.pem"), privateKey.export({ ...encoding, cipher: "aes-256-cbc", passphrase: "a" }));
  mkdirSync(join(cwd, "folder"));
  expect(await petstore(["serve", ...freePorts, "--tls-cert", cert, "--tls-key", key], { cwd })).toEqual({
    code: 1,
    stdout: "",
    stderr: `petstore: cannot ${failure}\n`,
  });
});

it("counts a signal that comes twice at once, as through npm, as one", async () => {
  const server = startServe([], { cwd: createFolder() });
  await server.nextLine();
  expect(await server.end("SIGINT", "SIGINT")).toBe(0);
});

it("refuses a store that another server uses, and names its process", async () => {
  const cwd = createFolder();
  const server = startServe([], { cwd });
  await server.nextLine();
  for (const flags of [[], ["--demo"]]) {
    expect(await petstore(["serve", ...freePorts, ...flags], { cwd })).toEqual({
      code: 1,
      stdout: "",
      stderr: `petstore: data/petstore.db: already served by process ${server.pid}\n`,
    });
  }
});

it("refuses a port that is in use, and changes nothing", async () => {
  const server = startServe([], { cwd: createFolder() });
  const port = portOf(await server.nextLine());
  for (const flags of [
    ["--port", port],
    ["--port", port, "--demo"],
    ["--ops-port", port],
  ]) {
    const cwd = createFolder();
    expect(await petstore(["serve", ...freePorts, ...flags], { cwd })).toEqual({
      code: 1,
      stdout: "",
      stderr: `petstore: cannot listen on 127.0.0.1 port ${port}: address already in use\n`,
    });
    expect(readdirSync(cwd)).toEqual([]);
  }
});

it("refuses a foreign address, whatever the port", async () => {
  // An address for documentation only. Source: RFC 5737
  expect(await petstore(["serve", ...freePorts, "--host", "203.0.113.9"], { cwd: createFolder() })).toEqual({
    code: 1,
    stdout: "",
    stderr: "petstore: cannot listen on 203.0.113.9: address not available\n",
  });
});

it("logs that it has started, that it has made the store, and that it has stopped", async () => {
  const cwd = createFolder();
  for (const made of [[{ level: 30, msg: "the store is new: there was none at this place", db: "stock.db" }], []]) {
    const server = startServe(["--log-level", "info", "--db", "stock.db"], { cwd });
    const url = (await server.nextLine())?.split(" ").at(-1);
    expect(await server.end("SIGTERM")).toBe(0);
    const lines = server.log().trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 30, msg: "the server has started", url },
      ...made,
      { level: 30, msg: "the server has stopped" },
    ]);
  }
});

it("says that it is ready before it logs that it has started", async () => {
  const by = ["sh", "-c", 'exec "$0" "$@" 2>&1'];
  const server = startServe(["--log-level", "info"], { cwd: createFolder(), by });
  const lines = [await server.nextLine(), await server.nextLine(), await server.nextLine()];
  expect(portOf(lines[0])).not.toBe("none");
  expect(lines[1]).toMatch(/^petstore operator port on /);
  expect(JSON.parse(lines[2] ?? "")).toMatchObject({ msg: "the server has started" });
  await server.end("SIGTERM");
});

it("says in the demo where everything is, and how to try it", async () => {
  const server = startServe(["--demo"], { cwd: createFolder() });
  const origin = `http://127.0.0.1:${portOf(await server.nextLine())}`;
  const lines = await Promise.all(Array.from({ length: 7 }, () => server.nextLine()));
  expect(lines).toEqual([
    expect.stringMatching(/^petstore operator port on http:\/\/127\.0\.0\.1:\d+$/),
    "",
    `The reference is at ${origin}/docs`,
    "",
    "Try it:",
    "",
    expect.stringMatching(new RegExp(`^ {2}curl -H "Authorization: Bearer psk_\\w{36}" ${origin}/v1/inventory$`)),
  ]);
  expect((await fetch(`${origin}/docs`)).status).toBe(200);
  await server.end("SIGTERM");
});

/** Starts the demo, and returns its key from the `curl` line that it prints. */
async function startDemo(cwd: string, env: Record<string, string> = {}) {
  const server = startServe(["--demo"], { cwd, env });
  const url = `http://127.0.0.1:${portOf(await server.nextLine())}`;
  let line = "";
  while (!line.includes("curl")) {
    line = (await server.nextLine()) ?? "curl";
  }
  const key = /^ {2}curl -H "Authorization: Bearer (psk_\w{36})" http:\S+\/v1\/inventory$/.exec(line)?.[1] ?? "none";
  return { ...server, key, get: (path: string, bearer = key) => get(`${url}${path}`, bearer) };
}

function get(url: string, key: string): Promise<Response> {
  return fetch(url, { headers: { Authorization: `Bearer ${key}` } });
}

it("has pets, orders and a key in the demo, and a new key at each start", async () => {
  const cwd = createFolder();
  const first = await startDemo(cwd);
  expect(await (await first.get("/v1/inventory")).json()).toHaveLength(22);
  expect(await (await first.get("/v1/store/orders")).json()).toHaveLength(6);
  await first.end("SIGTERM");
  const second = await startDemo(cwd);
  expect((await second.get("/v1/inventory")).status).toBe(200);
  expect(await (await second.get("/v1/inventory", first.key)).json()).toMatchObject({ code: "API_KEY_REVOKED" });
  await second.end("SIGTERM");
});

it("revokes no key in the demo but those of former demos", async () => {
  const cwd = createFolder();
  const args = ["keys", "create", "--plan", "pro", "--name", "demo", "--json"];
  const own = JSON.parse((await petstore(args, { cwd })).stdout) as { key: string };
  const server = await startDemo(cwd);
  expect((await server.get("/v1/inventory", own.key)).status).toBe(200);
});

it("applies the request timeout", async () => {
  const flags = ["--request-timeout", "1s"];
  const server = startServe(flags, { cwd: createFolder() });
  const socket = connect(Number(portOf(await server.nextLine())), "127.0.0.1");
  socket.write("GET /v1/inventory HTTP/1.1\r\n");
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /);
});

it("leaves a store that has pets as it is in the demo", async () => {
  const cwd = createFolder();
  const input = '{"id":7,"name":"R","category":"","photoUrls":[],"tags":[],"status":"sold","quantity":0}';
  await petstore(["import", "-"], { cwd, input });
  const server = await startDemo(cwd);
  expect(await (await server.get("/v1/inventory")).json()).toEqual([{ petId: 7, quantity: 0, status: "sold" }]);
  expect(await (await server.get("/v1/store/orders")).json()).toEqual([]);
});

it("is no demo with PETSTORE_DEMO=0", async () => {
  const server = startServe([], { cwd: createFolder(), env: { PETSTORE_DEMO: "0" } });
  await server.nextLine();
  await server.nextLine();
  const end = server.end("SIGTERM");
  expect(await server.nextLine()).toBeUndefined();
  expect(await end).toBe(0);
});
