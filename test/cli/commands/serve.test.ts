import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { prepareDemo } from "../../../src/cli/demo/demo.ts";
import { withStore } from "../../../src/cli/store.ts";
import { createCertificate } from "../../support/certificate.ts";
import { createFolder, folderOf } from "../../support/folder.ts";
import { mintKey } from "../../support/keys.ts";
import { petstore, type Running, type Surroundings, startPetstore } from "../../support/petstore.ts";
import { petstoreHere } from "../../support/petstore-here.ts";

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

it("says where it listens, ends with 0 on SIGTERM, and logs both, and that it has made the store", async () => {
  const cwd = createFolder();
  // An empty file is no store yet.
  writeFileSync(join(cwd, "stock.db"), "");
  for (const made of [[{ level: 30, msg: "the store is new: there was none at this place", db: "stock.db" }], []]) {
    const server = startServe(["--log-level", "info", "--db", "stock.db"], { cwd });
    const line = await server.nextLine();
    expect(portOf(line)).not.toBe("none");
    const operatorLine = (await server.nextLine()) ?? "";
    expect(operatorLine).toMatch(/^petstore operator port on http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${operatorLine.split(" ").at(-1)}/readyz`)).status).toBe(200);
    expect(await server.end("SIGTERM")).toBe(0);
    const lines = server.log().trim().split("\n");
    expect(lines.map((each) => JSON.parse(each))).toMatchObject([
      { level: 30, msg: "the server has started", url: line?.split(" ").at(-1) },
      ...made,
      { level: 30, msg: "the server has stopped" },
    ]);
  }
});

/** Creates a folder with certificates and keys of all kinds. */
const createCertificates = folderOf(async (cwd) => {
  createCertificate(cwd);
  const encoding = { type: "pkcs8", format: "pem" } as const;
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  writeFileSync(join(cwd, "empty.pem"), "");
  writeFileSync(join(cwd, "other.pem"), privateKey.export(encoding));
  writeFileSync(join(cwd, "locked.pem"), privateKey.export({ ...encoding, cipher: "aes-256-cbc", passphrase: "a" }));
  mkdirSync(join(cwd, "folder"));
});

it.for<[cert: string, key: string, failure: string]>([
  ["empty.pem", "key.pem", "use empty.pem for TLS: no certificate in PEM"],
  ["key.pem", "key.pem", "use key.pem for TLS: no certificate in PEM"],
  ["cert.pem", "cert.pem", "use cert.pem for TLS: no private key in PEM"],
  ["cert.pem", "other.pem", "use cert.pem with other.pem for TLS: the key is not that of the certificate"],
  ["cert.pem", "locked.pem", "use locked.pem for TLS: the key is encrypted; give one without a passphrase"],
  ["folder", "key.pem", "read folder: it is a folder"],
])("refuses the certificate %s with the key %s", async ([cert, key, failure]) => {
  const cwd = await createCertificates();
  expect(await petstoreHere(["serve", ...freePorts, "--tls-cert", cert, "--tls-key", key], { cwd })).toEqual({
    code: 1,
    stdout: "",
    stderr: `petstore: cannot ${failure}\n`,
  });
});

describe("while another server runs", () => {
  const cwd = mkdtempSync(join(tmpdir(), "petstore-serve-"));
  let server: Running;
  let port: string;
  beforeAll(async () => {
    server = startPetstore(["serve", ...freePorts, "--request-timeout", "1s"], { cwd });
    port = portOf(await server.nextLine());
  });
  afterAll(async () => {
    await server.end("SIGKILL");
    rmSync(cwd, { recursive: true });
  });

  it("refuses its store, and names its process", async () => {
    for (const flags of [[], ["--demo"]]) {
      expect(await petstore(["serve", ...freePorts, ...flags], { cwd })).toEqual({
        code: 1,
        stdout: "",
        stderr: `petstore: data/petstore.db: already served by process ${server.pid}\n`,
      });
    }
  });

  it("refuses its port, and changes nothing", async () => {
    // With the last one, the API's port is free. Its process ends only if nothing listens there any more.
    for (const [run, ...flags] of [
      [petstoreHere, "--port", port],
      [petstoreHere, "--port", port, "--demo"],
      [petstore, "--ops-port", port],
    ] as const) {
      const folder = createFolder();
      expect(await run(["serve", ...freePorts, ...flags], { cwd: folder })).toEqual({
        code: 1,
        stdout: "",
        stderr: `petstore: cannot listen on 127.0.0.1 port ${port}: address already in use\n`,
      });
      expect(readdirSync(folder)).toEqual([]);
    }
  });

  it("applies the request timeout to that one", async () => {
    const socket = connect(Number(port), "127.0.0.1");
    socket.write("GET /v1/inventory HTTP/1.1\r\n");
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /);
  });
});

it("refuses a foreign address, whatever the port", async () => {
  // An address for documentation only. Source: RFC 5737
  expect(await petstoreHere(["serve", ...freePorts, "--host", "203.0.113.9"], { cwd: createFolder() })).toEqual({
    code: 1,
    stdout: "",
    stderr: "petstore: cannot listen on 203.0.113.9: address not available\n",
  });
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

function get(url: string, key: string): Promise<Response> {
  return fetch(url, { headers: { Authorization: `Bearer ${key}` } });
}

/** Starts the demo. Returns the lines that it prints, and the key in the last one. */
async function startDemo(cwd: string) {
  const server = startServe(["--demo"], { cwd });
  const origin = `http://127.0.0.1:${portOf(await server.nextLine())}`;
  const lines = await Promise.all(Array.from({ length: 7 }, () => server.nextLine()));
  const key = /psk_\w{36}/.exec(lines.at(-1) ?? "")?.[0] ?? "none";
  return { ...server, origin, lines, key, get: (path: string, bearer = key) => get(`${origin}${path}`, bearer) };
}

it("has pets, orders and a key in the demo, says where they are, and has a new key at each start", async () => {
  const cwd = createFolder();
  const first = await startDemo(cwd);
  expect(first.lines).toEqual([
    expect.stringMatching(/^petstore operator port on http:\/\/127\.0\.0\.1:\d+$/),
    "",
    `The reference is at ${first.origin}/docs`,
    "",
    "Try it:",
    "",
    `  curl -H "Authorization: Bearer ${first.key}" ${first.origin}/v1/inventory`,
  ]);
  expect((await fetch(`${first.origin}/docs`)).status).toBe(200);
  expect(await (await first.get("/v1/inventory")).json()).toHaveLength(22);
  expect(await (await first.get("/v1/store/orders")).json()).toHaveLength(6);
  await first.end("SIGTERM");
  const second = await startDemo(cwd);
  expect((await second.get("/v1/inventory")).status).toBe(200);
  expect(await (await second.get("/v1/inventory", first.key)).json()).toMatchObject({ code: "API_KEY_REVOKED" });
  await second.end("SIGTERM");
});

/** Prepares the demo as a server does, without one. */
async function prepareDemoOf(db: string): Promise<void> {
  await withStore(db, "create", prepareDemo);
}

it("revokes no key in the demo but those of former demos", async () => {
  const db = join(createFolder(), "petstore.db");
  const own = await mintKey(db, ["--plan", "pro", "--name", "demo"]);
  await prepareDemoOf(db);
  await prepareDemoOf(db);
  const { stdout } = await petstoreHere(["keys", "list", "--all", "--json", "--db", db]);
  expect(JSON.parse(stdout)).toMatchObject([
    { id: own.id, revokedAt: null },
    { id: expect.stringMatching(/^key_demo_/), revokedAt: expect.any(String) },
    { id: expect.stringMatching(/^key_demo_/), revokedAt: null },
  ]);
});

it("leaves a store that has pets as it is in the demo", async () => {
  const cwd = createFolder();
  const input = '{"id":7,"name":"R","category":"","photoUrls":[],"tags":[],"status":"sold","quantity":0}';
  await petstoreHere(["import", "-"], { cwd, input });
  await prepareDemoOf(join(cwd, "data/petstore.db"));
  expect((await petstoreHere(["export", "--format", "jsonl"], { cwd })).stdout).toBe(`${input}\n`);
  expect((await petstoreHere(["export", "--format", "jsonl", "--orders"], { cwd })).stdout).toBe("");
});

it("is no demo with PETSTORE_DEMO=0, and counts a signal that comes twice at once, as through npm, as one", async () => {
  const server = startServe([], { cwd: createFolder(), env: { PETSTORE_DEMO: "0" } });
  await server.nextLine();
  await server.nextLine();
  const end = server.end("SIGINT", "SIGINT");
  expect(await server.nextLine()).toBeUndefined();
  expect(await end).toBe(0);
});
