import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { widthOf } from "../../../src/cli/print/terminal.ts";
import { formatAttempts, formatWebhooks } from "../../../src/cli/print/webhooks.ts";
import { newProgress } from "../../../src/domain/webhook.ts";
import { openSqliteStore, type SqliteStore } from "../../../src/storage/sqlite/store.ts";
import { createPet, createWebhook } from "../../storage/samples.ts";
import { until } from "../../support/deadline.ts";
import { importFixture } from "../../support/fixture.ts";
import { createFolder } from "../../support/folder.ts";
import { petstore } from "../../support/petstore.ts";
import { petstoreHere } from "../../support/petstore-here.ts";
import { serve, TestStore } from "../../support/server.ts";

const url = "https://receiver.example/stock";
const unknown = "whk_0000000000000000";
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/** A store with the fixture, in a folder that is removed when the test ends. */
async function createDb(): Promise<string> {
  const db = `${createFolder()}/petstore.db`;
  await importFixture(db);
  return db;
}

const run = (db: string, ...args: string[]) => petstoreHere(["webhooks", ...args, "--db", db]);

async function create(db: string, ...flags: string[]): Promise<{ id: string; url: string; secret: string }> {
  return JSON.parse((await run(db, "create", "--url", url, ...flags, "--json")).stdout);
}

async function withStore<R>(db: string, use: (store: SqliteStore) => Promise<R>): Promise<R> {
  const store = openSqliteStore(db, { writesDirectly: true });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

const answering = async (answer: RequestListener) => `http://127.0.0.1:${await listen(createServer(answer))}/`;

function signatureOf(secret: string, { headers }: IncomingMessage, body: string): string {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const content = [headers["webhook-id"], headers["webhook-timestamp"], body].join(".");
  return `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
}

describe("webhooks create", () => {
  it("prints the secret once, and creates a missing store", async () => {
    const cwd = createFolder();
    const created = await petstore(["webhooks", "create", "--url", url], { cwd });
    expect(created).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^whsec_[A-Za-z0-9+/]{43}=\n\nThis signs the requests of whk_\w{16}\. Keep it now: it is shown only once\.\n$/,
      ),
      stderr: "petstore: created a new store, data/petstore.db\n",
    });
    const { stdout } = await petstoreHere(["webhooks", "list", "--json"], { cwd });
    expect(stdout).not.toContain("whsec_");
  });

  it("prints an object with id, url and secret, and begins with the next change", async () => {
    const db = await createDb();
    expect(await create(db)).toEqual({
      id: expect.stringMatching(/^whk_\w{16}$/),
      url,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    const [[listed], { head }] = await withStore(db, (store) =>
      Promise.all([store.listWebhooks(), store.historyBounds(0)]),
    );
    expect(listed).toMatchObject({ filter: { petIds: [], crossing: undefined }, progress: newProgress(head) });
  });

  it("takes pets, a crossing and the oldest change that is kept", async () => {
    const db = await createDb();
    await create(db, "--pet", "7", "--pet", "8", "--crossing", "-5", "--from", "start");
    await create(db, "--from", "start", "--history-retention", "1s");
    const [[all, late], { head }] = await withStore(db, (store) =>
      Promise.all([store.listWebhooks(), store.historyBounds(0)]),
    );
    expect(all).toMatchObject({ filter: { petIds: [7n, 8n], crossing: -5n }, progress: newProgress(0n) });
    // What a server would no longer have when it begins would pause the webhook at once.
    expect(late?.progress).toEqual(newProgress(head));
  });

  it.for([
    ["credentials", "https://user:pass@receiver.example/"],
    ["no host", "https:///stock"],
    ["no name as its host", "http://*/"],
    ["an empty label in its host", "http://receiver..example/"],
    ["port 0", "https://receiver.example:0/"],
    ["another scheme", "file:///etc/passwd"],
    ["a fragment", "https://receiver.example/#a"],
    ["a line break", "https://receiver.example/a\nb"],
    ["a zone", "http://[fe80::1%25eth0]/"],
    ["no scheme", "receiver.example"],
    ["2,049 characters", `https://receiver.example/${"a".repeat(2_024)}`],
  ])("refuses a URL with %s, and changes nothing", async ([, bad = ""]) => {
    const cwd = createFolder();
    const { code, stdout, stderr } = await petstoreHere(["webhooks", "create", "--url", bad], { cwd });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(
      /^petstore: option '--url <url>' argument '.*' is invalid\. It must be an http or https URL/,
    );
    expect(stderr.trimEnd()).not.toContain("\n");
    expect(stderr).not.toContain("pass@");
    expect(readdirSync(cwd)).toEqual([]);
  });

  it.for(["http://[2001:db8::1]:8080/", "https://my_receiver/", "https://a-b.example./"])(
    "takes the URL %s",
    async (good) => {
      const { code, stdout } = await run(await createDb(), "create", "--url", good, "--json");
      expect([code, JSON.parse(stdout).url]).toEqual([0, good]);
    },
  );

  it.for(["2130706433", "0x7f.1", "[::ffff:10.0.0.1]", "localhost"])(
    "warns of an address that is not public: %s",
    async (host) => {
      const cwd = createFolder();
      const { code, stderr } = await petstoreHere(["webhooks", "create", "--url", `http://${host}/`], { cwd });
      expect(code).toBe(0);
      expect(stderr).toMatch(
        /\npetstore: warning: (127\.0\.0\.1|localhost|\[::ffff:a00:1\]) is not public; a server delivers to it only with 'serve --allow-private'\n$/,
      );
    },
  );

  it.for<[flags: string[], code: number, message: string]>([
    [[], 2, "name the URL of the receiver, with --url https://…"],
    [["--url", url, "--crossing", "5.5"], 2, "option '--crossing <n>' argument '5.5' is invalid. It must be a 64-bit"],
    [["--url", url, "--pet", "x"], 2, "option '--pet <id>' argument 'x' is invalid. It must be the id of a pet"],
    [["--url", url, "--from", "then"], 2, "option '--from <place>' argument 'then' is invalid. Allowed choices are"],
    [["--url", url, "--pet", "404404"], 1, "There is no pet 404404."],
    [
      ["--url", url, "--pet", Array.from({ length: 101 }, (_, id) => id).join(",")],
      2,
      "name at most 100 pets with --pet, or none for the changes of all",
    ],
  ])("refuses flags: %j", async ([flags, code, message]) => {
    const db = await createDb();
    const result = await run(db, "create", ...flags);
    expect(result).toEqual({ code, stdout: "", stderr: expect.stringMatching(`^petstore: ${RegExp.escape(message)}`) });
    expect(await withStore(db, (store) => store.listWebhooks())).toEqual([]);
  });

  it("refuses pets of a missing store, and creates none", async () => {
    const cwd = createFolder();
    expect(await petstoreHere(["webhooks", "create", "--url", url, "--pet", "7"], { cwd })).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^petstore: data\/petstore\.db: there is no such store.*\n$/),
    });
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe("the secret key", () => {
  const [key, other] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
  const runWith = (db: string, secretKey: string, ...args: string[]) =>
    petstoreHere(["webhooks", ...args, "--db", db], { env: { PETSTORE_SECRET_KEY: secretKey } });

  it("encrypts secrets in the store; without it none is replaced by one that is not encrypted", async () => {
    const db = await createDb();
    const { stdout } = await runWith(db, key, "create", "--url", url, "--json");
    const { id, secret } = JSON.parse(stdout);
    const stored = () => withStore(db, (store) => store.getWebhook(id));
    expect((await stored())?.secret).toMatch(/^aes256gcm:/);
    expect(await run(db, "rotate-secret", id)).toEqual({
      code: 1,
      stdout: "",
      stderr: "petstore: the store keeps its secret encrypted: set PETSTORE_SECRET_KEY, as for the server\n",
    });
    expect((await run(db, "create", "--url", url)).stderr).toBe(
      "petstore: warning: without PETSTORE_SECRET_KEY, this secret alone is not encrypted\n",
    );
    expect((await run(db, "test", id)).stderr).toContain("its secret needs PETSTORE_SECRET_KEY");
    expect((await runWith(db, other, "test", id)).stderr).toContain(
      "its secret was encrypted with another PETSTORE_SECRET_KEY",
    );
    expect(JSON.parse((await runWith(db, key, "rotate-secret", id, "--json")).stdout).secret).not.toBe(secret);
    expect((await stored())?.formerSecret?.secret).toMatch(/^aes256gcm:/);
  });

  it("is not repeated where it is mistyped; as a flag it causes a warning", async () => {
    const cwd = createFolder();
    const bad = "the value of --secret-key or PETSTORE_SECRET_KEY is invalid. It must be 32 bytes in base64";
    const create = ["webhooks", "create", "--url", url];
    const results = [
      await petstoreHere(create, { cwd, env: { PETSTORE_SECRET_KEY: "hunter2" } }),
      await petstoreHere([...create, "--secret-key", "hunter2"], { cwd }),
    ];
    for (const { code, stderr } of results) {
      expect([code, stderr]).toEqual([2, expect.stringContaining(bad)]);
      expect(stderr).not.toContain("hunter2");
    }
    const shown = await petstoreHere([...create, "--secret-key", key], { cwd });
    expect(shown.stderr).toContain(
      "petstore: warning: other users of this machine see --secret-key; set PETSTORE_SECRET_KEY instead\n",
    );
    expect(shown.stderr).not.toContain(key);
  });
});

describe("webhooks list", () => {
  it("prints an array of objects without secrets", async () => {
    const db = await createDb();
    const { id } = await create(db, "--pet", "7", "--crossing", "5");
    const { head } = await withStore(db, (store) => store.historyBounds(0));
    const { stdout } = await run(db, "list", "--json");
    expect(JSON.parse(stdout)).toEqual([
      {
        id,
        url,
        petIds: [7],
        crossing: 5,
        createdAt: time,
        state: "active",
        paused: null,
        position: Number(head),
        behind: 0,
        failures: 0,
        failingSince: null,
        nextAttemptAt: null,
      },
    ]);
    expect((await run(db, "list")).stdout).toBe(
      `ID                    STATE   BEHIND  FILTER       URL\n${id}  active  0       pet 7, to 5  ${url}\n`,
    );
  });

  it("fits the terminal", () => {
    const nowMs = 1_700_000_000_000;
    const long = `https://receiver.example/${"a".repeat(200)}`;
    const failing = { ...newProgress(3n), failures: 3, failingSinceMs: nowMs - 7_200_000 };
    const webhooks = [
      createWebhook({ id: "whk_4kD0aT7uLw2QxYzB", url: long, progress: failing }),
      createWebhook({ id: "whk_4kD0aT7uLw2QxYzC", url: long, paused: { reason: "operator", atMs: nowMs } }),
    ];
    const table = formatWebhooks(webhooks, { head: 1_234n, nowMs, width: 80 });
    expect(table).toMatch(/ failing, 2h ago +1231 +- +https:\/\/receiver\.exa.*…\n.* paused \(operator\) +1234 /);
    expect(table.split("\n").filter((line) => widthOf(line) > 80)).toEqual([]);
    expect(formatWebhooks(webhooks, { head: 1_234n, nowMs, width: undefined })).toContain(long);
  });

  it("says so where there is none", async () => {
    const db = await createDb();
    expect((await run(db, "list")).stdout).toBe("There are no webhooks.\n");
    expect((await run(db, "list", "--json")).stdout).toBe("[]\n");
  });
});

describe("webhooks pause, resume, rotate-secret and delete", () => {
  it("change a webhook, and say what was so already", async () => {
    const db = await createDb();
    const { id, secret } = await create(db);
    const stdoutOf = async (...args: string[]) => (await run(db, ...args)).stdout;
    expect(await stdoutOf("pause", id)).toBe(`paused ${id}\n`);
    expect(await stdoutOf("pause", id)).toMatch(/^whk_\w+ was already paused, on \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ\n$/);
    expect(JSON.parse(await stdoutOf("list", "--json"))).toMatchObject([
      { state: "paused", paused: { reason: "operator", at: time } },
    ]);
    expect(await stdoutOf("resume", id)).toBe(`resumed ${id}\n`);
    expect(await stdoutOf("resume", id)).toBe(`${id} was not paused; it is tried again now\n`);
    const rotated = JSON.parse(await stdoutOf("rotate-secret", id, "--json"));
    expect(rotated).toEqual({ id, url, secret: expect.stringMatching(/^whsec_/) });
    expect(rotated.secret).not.toBe(secret);
    expect(await stdoutOf("rotate-secret", id)).toMatch(/^whsec_\S+\n\nThis signs the requests of whk_\w+\. Keep/);
    expect(await stdoutOf("delete", id)).toBe(`deleted ${id}\n`);
    expect(await stdoutOf("list")).toBe("There are no webhooks.\n");
  });

  it.for([
    ["as the command's retention says", false, ["--history-retention", "1s"]],
    ["as the server has found, whose retention is shorter than the command's", true, []],
  ] as const)("go on with the next change where the ones before are no longer kept, %s", async ([, isFound, flags]) => {
    const db = await createDb();
    const { id } = await create(db, "--from", "start");
    if (isFound) {
      await withStore(db, (store) => store.pauseWebhook(id, "history", Date.now()));
    }
    const resumed = await run(db, "resume", id, ...flags);
    expect(resumed.stdout).toBe(
      `resumed ${id} with the next change; others are no longer kept: list the inventory anew\n`,
    );
    const [webhook, { head }] = await withStore(db, (store) =>
      Promise.all([store.getWebhook(id), store.historyBounds(0)]),
    );
    expect(webhook?.progress).toEqual(newProgress(head));
  });

  const failed = (message: string, code = 1) => ({ code, stdout: "", stderr: expect.stringMatching(message) });

  it.for(["pause", "resume", "rotate-secret", "delete", "test", "deliveries"])(
    "refuse an unknown id and a missing store: %s",
    async (command) => {
      expect(await run(await createDb(), command, unknown)).toEqual(
        failed(`^petstore: there is no webhook "${unknown}"; 'petstore webhooks list' lists all webhooks\n$`),
      );
      const missing = `${createFolder()}/none.db`;
      expect(await run(missing, command, unknown)).toEqual(failed("^petstore: .*none\\.db.*\n$"));
      expect(existsSync(missing)).toBe(false);
    },
  );

  it("refuse a secret in the place of the id, and no id", async () => {
    const db = await createDb();
    const { stderr } = await run(db, "pause", "whsec_c2VjcmV0");
    expect(stderr).toMatch(/^petstore: a webhook is named by its id, not by its secret; /);
    expect(stderr).not.toContain("whsec_");
    expect(await run(db, "pause")).toEqual(failed("^petstore: missing required argument 'id'\n$", 2));
    expect(await run(`${createFolder()}/none.db`, "list")).toEqual(failed("^petstore: .*none\\.db.*\n$"));
  });
});

describe("webhooks test", () => {
  it("posts a signed request, and tells the outcome", async () => {
    const db = await createDb();
    const requests: { message: IncomingMessage; body: string }[] = [];
    const receiver = await answering((message, response) => {
      void text(message).then((body) => {
        requests.push({ message, body });
        response.writeHead(requests.length === 1 ? 204 : 302, { location: "/elsewhere" }).end();
      });
    });
    const { id, secret } = JSON.parse((await run(db, "create", "--url", receiver, "--json")).stdout);
    const first = await run(db, "test", id, "--allow-private");
    expect(first).toEqual({ code: 0, stdout: expect.stringMatching(`^${id} answered 204 in \\d+ ms\n$`), stderr: "" });
    const [{ message, body } = expect.unreachable()] = requests;
    expect(JSON.parse(body)).toEqual({ type: "webhook.test", timestamp: time, data: { webhookId: id } });
    expect(message.headers).toMatchObject({ "content-type": "application/json", "webhook-id": expect.any(String) });
    expect(message.headers["webhook-signature"]).toBe(signatureOf(secret, message, body));
    expect(await run(db, "test", id, "--allow-private")).toEqual({
      code: 1,
      stdout: "",
      stderr: `petstore: ${id} was not delivered to: it answered 302: it must not redirect\n`,
    });
    expect(requests.length).toBe(2);
  });

  it("sends nothing to an address that is not public, and nothing by a proxy of the environment", async () => {
    const db = await createDb();
    let requests = 0;
    const receiver = await answering((_message, response) => {
      requests += 1;
      response.end();
    });
    let proxied = 0;
    const proxy = createSocketServer((socket) => {
      proxied += 1;
      socket.destroy();
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    onTestFinished(() => void proxy.close());
    const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const env = { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: proxyUrl, http_proxy: proxyUrl, NO_PROXY: "", no_proxy: "" };
    const { id } = JSON.parse((await run(db, "create", "--url", receiver, "--json")).stdout);
    const refused = await petstore(["webhooks", "test", id, "--db", db], { env });
    expect(refused).toEqual({
      code: 1,
      stdout: "",
      stderr: `petstore: ${id} was not delivered to: its address is not public (see --allow-private)\n`,
    });
    expect((await petstore(["webhooks", "test", id, "--db", db, "--allow-private"], { env })).code).toBe(0);
    expect([requests, proxied]).toEqual([1, 0]);
  });
});

it("a webhook is not paused at a start for changes that it does not want, and that were listed until just now", async () => {
  const store = new TestStore();
  await withStore(store.db, async (file) => {
    await file.importAll({ pets: [createPet({ id: 7n })] }, Date.now() - 2_000);
    await file.createWebhook(createWebhook({ id: unknown, filter: { petIds: [], crossing: 5n } }));
  });
  const server = await serve(store, { flags: ["--history-retention", "1s"] });
  onTestFinished(() => server.stop());
  const list = async () => JSON.parse(await store.run("webhooks", "list", "--json"))[0];
  await until(async () => (await list()).paused !== null || (await list()).behind === 0, 20_000);
  expect(await list()).toMatchObject({ paused: null, behind: 0 });
});

describe("webhooks deliveries", () => {
  it("shows the last attempts of a server, the newest first", async () => {
    const store = new TestStore();
    onTestFinished(() => store.remove());
    await importFixture(store.db);
    let isWell = false;
    const receiver = await answering((_message, response) => response.writeHead(isWell ? 204 : 500).end());
    const created = await store.run("webhooks", "create", "--url", receiver, "--from", "start", "--json");
    const { id, secret } = JSON.parse(created);
    const deliveries = async () => JSON.parse(await store.run("webhooks", "deliveries", id, "--json"));
    expect(await store.run("webhooks", "deliveries", id)).toBe("Nothing was delivered yet.\n");
    const server = await serve(store, { flags: ["--allow-private", "--log-level", "debug"] });
    onTestFinished(() => server.end("SIGKILL").then(() => {}));
    await until(async () => (await deliveries()).length === 1, 20_000);
    isWell = true;
    // It is tried again at once.
    await store.run("webhooks", "resume", id);
    await until(async () => (await deliveries()).length === 2, 20_000);
    const common = { webhookId: expect.stringMatching(/^msg_/), at: time, durationMs: expect.any(Number) };
    const [second, first] = await deliveries();
    expect(second).toEqual({ ...common, changes: expect.any(Number), status: 204, outcome: "delivered", fault: null });
    expect(first).toEqual({ ...second, ...common, status: 500, outcome: "failed", fault: "it answered 500" });
    expect(second.webhookId).toBe(first.webhookId);
    expect(await store.run("webhooks", "deliveries", id)).toMatch(
      /^WHEN +CHANGES +TOOK +OUTCOME\n\S+ \S+Z +\d+ +\d+ ms +delivered, 204\n\S+ \S+Z +\d+ +\d+ ms +it answered 500\n$/,
    );
    const pages = ["/metrics", "/status"].map(async (path) => (await fetch(`${server.opsOrigin}${path}`)).text());
    const told = [server.log, ...(await Promise.all(pages))].join("\n");
    expect(told).toContain(id);
    expect(told).not.toContain(secret.slice(0, 20));
    expect(told).not.toMatch(/whsec_|v1,/);
  });

  it("fits the terminal", () => {
    const attempt = {
      deliveryId: "msg_1",
      atMs: 1_700_000_000_000,
      durationMs: 10_000,
      changes: 100,
      status: undefined,
    };
    const fault = "its certificate is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)";
    const table = formatAttempts([{ ...attempt, fault }], 80);
    expect(table).toMatch(/2023-11-14 22:13:20Z +100 +10\.0 s +its certificate is not trusted .*…\n$/);
    expect(table.split("\n").filter((line) => widthOf(line) > 80)).toEqual([]);
  });
});
