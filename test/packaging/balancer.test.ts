import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BalancedServers, balancerConfig, missingForBalancer } from "../support/balanced-servers.ts";
import { protocolNamed, protocols, rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectSuccess } from "../support/expectations.ts";
import { isInstalled } from "../support/installed.ts";
import { mintKey } from "../support/keys.ts";
import { Metrics } from "../support/metrics.ts";
import { watchProtocols } from "../support/watch.ts";

if (missingForBalancer !== "") {
  console.warn(`Three servers are not tried behind the balancer without ${missingForBalancer}.`);
}

const grpc = protocolNamed("gRPC");
const unlimited = ["--plan", "enterprise", "--per-minute", "1000000", "--per-day", "10000000"];

it.skipIf(!isInstalled("haproxy"))("HAProxy takes ops/haproxy.cfg (skipped without haproxy)", async () => {
  const { stdout, stderr } = await promisify(execFile)("haproxy", ["-c", "-f", balancerConfig]);
  expect(stdout + stderr).not.toMatch(/WARNING|ALERT/);
});

describe.skipIf(missingForBalancer !== "")("three servers behind the load balancer", () => {
  let servers: BalancedServers;
  let key: string;

  beforeAll(async () => {
    servers = await BalancedServers.start();
    ({ key } = await mintKey(servers.database.url, unlimited));
  });

  afterAll(() => servers?.stop());

  /** How many calls each server has answered. */
  async function callsByServer(method: string): Promise<number[]> {
    const texts = servers.nodes.map(async ({ opsOrigin }) => (await fetch(`${opsOrigin}/metrics`)).text());
    return (await Promise.all(texts)).map((text) => new Metrics(text).sum("petstore_calls_total", { method }));
  }

  it.each(protocols)("are reached over $name", async (protocol) => {
    const client = protocol.open(servers);
    const quantity = BigInt(Math.floor(Math.random() * 1_000_000));
    expectSuccess(await client.call("updateInventory", { petId: 7n, update: { quantity } }, { key }));
    expect(expectSuccess(await client.call("getInventory", { petId: 7n }, { key })).item?.quantity).toBe(quantity);
    const { failure } = await client.call("getPet", { petId: 404n }, { key });
    expect(failure?.code).toBe("PET_NOT_FOUND");
    client.close();
  });

  it("share the calls of one connection of gRPC", async () => {
    const method = "petstore.v1.LimitService/GetLimits";
    const before = await callsByServer(method);
    const client = grpc.open(servers);
    for (let made = 0; made < 30; made++) {
      expectSuccess(await client.call("getLimits", {}, { key }));
    }
    client.close();
    const after = await callsByServer(method);
    expect(after.map((count, index) => count - (before[index] ?? 0))).toEqual([10, 10, 10]);
  });

  it("know the client's address, whatever the client claims", async () => {
    const requestId = randomUUID();
    const sent = request(`${servers.origin}/v1/limits`, {
      localAddress: "127.0.0.7",
      headers: { "x-forwarded-for": "203.0.113.9", "x-request-id": requestId, authorization: `Bearer ${key}` },
    });
    sent.end();
    sent.on("response", (response) => response.resume());
    const lineOf = () => servers.nodes.flatMap(({ log }) => log.split("\n")).find((line) => line.includes(requestId));
    await until(async () => lineOf() !== undefined, 5_000);
    expect(JSON.parse(lineOf() ?? "{}")).toMatchObject({ clientAddress: "127.0.0.7" });
  });

  it("tell changes at once that another server has made", async () => {
    const watches = watchProtocols.map((protocol) =>
      protocol.open(servers, { petId: [7n] }, { authorization: `Bearer ${key}` }),
    );
    await Promise.all(watches.map(({ headers }) => headers));
    const client = rest.open(servers);
    for (const quantity of [-11n, -12n, -13n]) {
      expectSuccess(await client.call("updateInventory", { petId: 7n, update: { quantity } }, { key }));
    }
    client.close();
    for (const watch of watches) {
      await until(async () => watch.told.at(-1)?.after === -13n, 5_000);
      watch.stop();
    }
  });

  it("keep a stream open by its heartbeats for longer than any timeout", async () => {
    // A little more than the time between two heartbeats.
    const hasty = await servers.behindAnother((config) =>
      config.replaceAll(/(timeout (client|server)) 60s/g, "$1 17s"),
    );
    const watches = watchProtocols.map((protocol) =>
      protocol.open(hasty, { petId: [7n] }, { authorization: `Bearer ${key}` }),
    );
    const heartbeats = (told: (typeof watches)[number]["told"]) =>
      told.filter(({ revision }) => revision === undefined);
    const haveTwo = async () => watches.every(({ told }) => heartbeats(told).length >= 2);
    await until(haveTwo, 45_000);
    const client = rest.open(servers);
    expectSuccess(await client.call("updateInventory", { petId: 7n, update: { quantity: -17n } }, { key }));
    client.close();
    for (const watch of watches) {
      await until(async () => watch.told.at(-1)?.after === -17n, 5_000);
      watch.stop();
    }
  }, 60_000);

  it("lose nothing, and fail no client that retries, while one is killed and others are restarted", async () => {
    const load = new Load(servers.origin, key);
    const [first, second, third] = servers.nodes;
    await load.progress();
    await first?.end("SIGKILL");
    await load.progress();
    await load.whileStarting(first);
    await second?.end("SIGTERM");
    await load.progress();
    await load.whileStarting(second);
    await third?.end("SIGTERM");
    // Only those that have been started again are there.
    await load.progress();
    const { failures, repeated, taken, reads } = await load.stop();
    expect(failures).toEqual([]);
    expect(reads).toBeGreaterThan(100);
    const client = rest.open(servers);
    const { item } = expectSuccess(await client.call("getInventory", { petId: 8n }, { key }));
    client.close();
    expect(item?.quantity).toBe(1_000_000n - BigInt(taken));
    // What was never sent goes to another server by itself: few calls are seen to fail.
    expect(repeated.length).toBeLessThan(25);
  }, 120_000);

  it("are told of in the API's own words while none is there", async () => {
    await Promise.all(servers.nodes.map((node) => node.end("SIGTERM")));
    const response = await fetch(`${servers.origin}/v1/inventory`);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({ code: "UNAVAILABLE", status: response.status });
    const client = grpc.open(servers);
    expect((await client.call("getLimits", {}, { key })).failure).toMatchObject({ canonical: "unavailable" });
    client.close();
    await servers.nodes[2]?.start();
    await until(async () => (await fetch(`${servers.origin}/docs`)).ok, 5_000);
  });
});

/** Clients that read, and take one of pet 8 at a time; whatever fails is sent again. */
class Load {
  readonly #origin: string;
  readonly #headers: Record<string, string>;
  readonly #clients: Promise<void>[];
  readonly #failures: string[] = [];
  readonly #repeated: string[] = [];
  #taken = 0;
  #reads = 0;
  #restMs = 0;
  #isOver = false;

  constructor(origin: string, key: string) {
    this.#origin = origin;
    this.#headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const stocked = this.#send("PATCH", "/v1/inventory/8", { quantity: 1_000_000 });
    this.#clients = Array.from({ length: 6 }, async () => {
      await stocked;
      await this.#goOn();
    });
  }

  /** Waits for some more calls of each kind. */
  async progress(): Promise<void> {
    const [taken, reads] = [this.#taken + 100, this.#reads + 100];
    await until(async () => this.#taken > taken && this.#reads > reads, 20_000);
  }

  /** Has the clients rest between calls while a server starts, which needs the processor. */
  async whileStarting(node: BalancedServers["nodes"][number] | undefined): Promise<void> {
    this.#restMs = 100;
    await node?.start();
    this.#restMs = 0;
  }

  async stop() {
    this.#isOver = true;
    await Promise.all(this.#clients);
    return { failures: this.#failures, repeated: this.#repeated, taken: this.#taken, reads: this.#reads };
  }

  async #goOn(): Promise<void> {
    while (!this.#isOver) {
      await setTimeout(this.#restMs);
      if (await this.#send("POST", "/v1/inventory/8:adjust", { delta: -1 })) {
        this.#taken += 1;
      }
      if (await this.#send("GET", "/v1/inventory/8")) {
        this.#reads += 1;
      }
    }
  }

  /** Sends a request until it is answered; a write under one idempotency key. */
  async #send(method: string, path: string, body?: object): Promise<boolean> {
    const headers = { ...this.#headers, ...(method === "POST" && { "idempotency-key": randomUUID() }) };
    for (let attempt = 0; attempt < 40; attempt++) {
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const response = await fetch(this.#origin + path, init).catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      if (response?.ok && text !== undefined) {
        return true;
      }
      const fault = `${method} ${response?.status ?? "no answer"}`;
      if (response !== undefined && response.status < 500) {
        this.#failures.push(`${fault}: ${text}`);
        return false;
      }
      this.#repeated.push(fault);
      await setTimeout(100);
    }
    this.#failures.push(`${method} ${path}: too often`);
    return false;
  }
}
