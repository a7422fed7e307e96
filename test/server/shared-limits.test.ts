import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { createSecureContext, createServer as createTlsServer } from "node:tls";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createCertificate } from "../support/certificate.ts";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectFailure, expectLimits, expectSuccess } from "../support/expectations.ts";
import { createFolder } from "../support/folder.ts";
import { readMetrics } from "../support/metrics.ts";
import { petstore } from "../support/petstore.ts";
import { freePort, hasRedis, RedisServer } from "../support/redis-server.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";
import { TcpProxy } from "../support/tcp-proxy.ts";

describe.runIf(hasRedis)("a server that has Valkey count (skipped without redis-server)", () => {
  let redis: RedisServer;
  let store: TestStore;
  const servers: TestServer[] = [];

  beforeEach(async () => {
    redis = await RedisServer.start();
    store = new TestStore();
  });

  afterEach(async () => {
    redis.resume();
    await Promise.all(servers.splice(0).map((server) => server.end("SIGKILL")));
    await redis.stop();
    store.remove();
  });

  async function start(url: string, flags: readonly string[] = [], env: Record<string, string> = {}) {
    const server = await serve(store, { flags: ["--limits", url, ...flags], env });
    servers.push(server);
    return server;
  }

  const list = (server: TestServer, key: string) => server.call(rest, "listInventory", { pageSize: 1 }, { key });

  async function shared(server: TestServer) {
    const status = (await (await fetch(`${server.opsOrigin}/status`)).json()) as { limits: { shared: unknown } };
    return status.limits.shared as { url: string; fallback: string; away: { reason: string } | null };
  }

  const readiness = async (server: TestServer) => (await fetch(`${server.opsOrigin}/readyz`)).text();

  /** By itself, the only node of a cluster does not know its address. */
  const announced = ["--cluster-announce-hostname", "localhost", "--cluster-preferred-endpoint-type", "hostname"];

  /** A cluster of one node, which serves no slot yet. */
  const startClusterNode = async (args: readonly string[]) =>
    RedisServer.start({
      args: ["--cluster-enabled", "yes", "--cluster-port", String(await freePort()), ...announced, ...args],
    });

  it("tells by log, metrics and status that it counts by itself, and that it no longer does", async () => {
    const { key } = await store.mintQuota(60, 1_000);
    const server = await start(redis.url.replace("//", "//:geheim@"));
    expectSuccess(await list(server, key));
    expect(await shared(server)).toMatchObject({ fallback: "local", away: null });
    const { port } = redis;
    await redis.stop();
    const outcome = await list(server, key);
    expectSuccess(outcome);
    expect(expectLimits(outcome.headers).remaining).toBe(58);
    expectSuccess(await server.call(rest, "getLimits", {}, { key }));
    expect((await shared(server)).away?.reason).toMatch(/ECONNREFUSED|lost/);
    const metrics = await readMetrics(server);
    expect(metrics.sum("petstore_limits_away", {})).toBe(1);
    expect(metrics.sum("petstore_limits_local_total", {})).toBe(1);
    expect(metrics.sum("petstore_limits_round_trip_seconds_count", {})).toBeGreaterThan(0);
    expect(await readiness(server)).toBe("ready\n");
    redis = await RedisServer.start({ port });
    await until(async () => (await shared(server)).away === null, 5_000);
    expect((await readMetrics(server)).sum("petstore_limits_away", {})).toBe(0);
    expect(server.log).toContain("Valkey does not answer; this server counts by itself until it does");
    expect(server.log).toContain("Valkey answers again");
    const told = server.log + JSON.stringify(await shared(server)) + metrics.text;
    expect(told).toContain("redis://********@127.0.0.1");
    expect(told).not.toContain("geheim");
  });

  it("tells why a cluster refuses its password, and never the password", async () => {
    await redis.stop();
    redis = await startClusterNode(["--requirepass", "open sesame"]);
    const server = await start(`${redis.url.replace("//", "//:geheim@")}?cluster`);
    const { away } = await shared(server);
    expect(server.log + JSON.stringify(away)).not.toContain("geheim");
    // On a busy machine the first attempts may get no answer in time.
    await expect.poll(async () => (await shared(server)).away?.reason, { timeout: 20_000 }).toMatch(/^WRONGPASS/);
  });

  it("refuses within three seconds where it is to, and is not ready meanwhile", async () => {
    const { key } = await store.mintQuota(60, 1_000);
    const server = await start(redis.url, ["--limits-fallback", "refuse"]);
    expectSuccess(await list(server, key));
    redis.hang();
    const startedAt = performance.now();
    const outcome = await list(server, key);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expectFailure(outcome, "UNAVAILABLE");
    expectFailure(await list(server, "psk_nobody"), "UNAVAILABLE");
    expect(await readiness(server)).toBe("limits cannot be counted\n");
    redis.resume();
    await until(async () => (await readiness(server)) === "ready\n", 5_000);
    expectSuccess(await list(server, key));
  });

  it("starts without Valkey: by itself, or not ready until it is there", async () => {
    const { key } = await store.mintQuota(60, 1_000);
    const port = await freePort();
    const alone = await start(`redis://127.0.0.1:${port}`);
    expect(alone.log).toContain("Valkey does not answer");
    expectSuccess(await list(alone, key));
    await alone.end();
    const refusing = await start(`redis://127.0.0.1:${port}`, ["--limits-fallback", "refuse"]);
    expectFailure(await list(refusing, key), "UNAVAILABLE");
    expect(await readiness(refusing)).toBe("limits cannot be counted\n");
    await redis.stop();
    redis = await RedisServer.start({ port });
    await until(async () => (await readiness(refusing)) === "ready\n", 5_000);
    expectSuccess(await list(refusing, key));
  });

  it("is not ready while Valkey's user may not run scripts, and says so once", async () => {
    const rights = ["~petstore:*", "+@all", "-evalsha"];
    await redis.client.call("ACL", "SETUSER", "clerk", "on", ">secret", ...rights);
    const server = await start(redis.url.replace("//", "//clerk:secret@"), ["--limits-fallback", "refuse"]);
    const { key } = await store.mintQuota(60, 1_000);
    expectFailure(await list(server, key), "UNAVAILABLE");
    for (let attempt = 0; attempt < 10; attempt++) {
      await setTimeout(200);
      expect(await readiness(server)).toBe("limits cannot be counted\n");
    }
    expect((await shared(server)).away?.reason).toMatch(/no permissions to run the 'evalsha' command/);
    expect((await readMetrics(server)).sum("petstore_limits_away", {})).toBe(1);
    expect(server.log.match(/Valkey (does not answer|answers again)/g)).toEqual(["Valkey does not answer"]);
    await redis.client.call("ACL", "SETUSER", "clerk", "+evalsha");
    await until(async () => (await readiness(server)) === "ready\n", 5_000);
  });

  it("heeds keys unban within two seconds, and keys update within one, and resets no counters", async () => {
    const { id, key } = await store.mintQuota(2, 1_000);
    const server = await start(redis.url);
    for (let made = 0; made < 22; made += 1) {
      await list(server, key);
    }
    expectFailure(await list(server, key), "API_KEY_BANNED");
    await store.run("keys", "unban", id);
    await until(async () => (await list(server, key)).failure?.code === "RATE_LIMIT_EXCEEDED", 2_000);
    await store.run("keys", "update", id, "--per-minute", "50", "--per-day", "1000");
    await until(async () => (await list(server, key)).failure === undefined, 1_000);
    expect(expectLimits((await list(server, key)).headers).remaining).toBeLessThanOrEqual(46);
    const shownLeft = async () => JSON.parse(await store.run("keys", "show", id, "--json")).minute.remaining;
    await until(async () => (await shownLeft()) <= 47, 2_000);
  });

  it("goes on after a restart of its own from what Valkey has counted", async () => {
    const { key } = await store.mintQuota(60, 1_000);
    const first = await start(redis.url);
    await list(first, key);
    await first.end("SIGKILL");
    expect(expectLimits((await list(await start(redis.url), key)).headers).remaining).toBe(58);
  });

  it("refuses to start with a Redis that is older than 7, in one line", async () => {
    const proxy = await TcpProxy.start(redis.port);
    proxy.rewrite = (answer) => answer.replace(/redis_version:\d+/, "redis_version:6");
    const url = proxy.url.replace("//", "//:geheim@");
    const { code, stdout, stderr } = await petstore(["serve", "--port", "0", "--db", store.db, "--limits", url]);
    proxy.close();
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    const lines = stderr.split("\n").filter((line) => line.startsWith("petstore:"));
    expect(lines.at(-1)).toMatch(/^petstore: limits need Redis 7 or newer, or Valkey; the server is Redis 6\./);
    expect(stderr).not.toMatch(/geheim|\n {4}at /);
  });

  it.each([[], ["--demo"]])("refuses a database that Redis does not have, and makes no store: %j", async (...flags) => {
    const cwd = createFolder();
    const args = ["serve", "--port", "0", "--ops-port", "0", "--limits", `${redis.url}/99`, ...flags];
    const { code, stdout, stderr } = await petstore(args, { cwd });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^petstore: limits cannot use database 99 of the server: .*\n$/m);
    expect(readdirSync(cwd)).toEqual([]);
  });

  describe.each([
    ["a server", ""],
    ["a cluster", "?cluster"],
  ])("speaks TLS by rediss with %s", (_name, query) => {
    let certFile: string;
    let keyFile: string;
    let url: string;

    beforeEach(async () => {
      ({ certFile, keyFile } = createCertificate(createFolder()));
      const port = await freePort();
      await redis.stop();
      const tls = ["--tls-port", String(port), "--tls-cert-file", certFile, "--tls-key-file", keyFile];
      const args = [...tls, "--tls-ca-cert-file", certFile, "--tls-auth-clients", "no"];
      redis = await (query === "" ? RedisServer.start({ args }) : startClusterNode([...args, "--tls-cluster", "yes"]));
      if (query !== "") {
        await redis.client.cluster("ADDSLOTSRANGE", 0, 16_383);
        await until(async () => (await redis.client.cluster("INFO")).includes("cluster_state:ok"), 20_000);
      }
      url = `rediss://localhost:${port}${query}`;
    });

    /** Starts a server that does not get through to Valkey, and resolves when it knows the reason. */
    async function awayBecause(reason: RegExp, env: Record<string, string>): Promise<void> {
      const server = await start(url, [], env);
      // On a busy machine the first attempts may get no answer in time.
      await expect.poll(async () => (await shared(server)).away?.reason, { timeout: 20_000 }).toMatch(reason);
      await server.end();
    }

    it("whose certificate it can trust", async () => {
      const server = await start(url, [], { NODE_EXTRA_CA_CERTS: certFile });
      expect((await shared(server)).away).toBeNull();
    }, 60_000);

    it("which has a certificate for the name in the URL only", async () => {
      const secureContext = createSecureContext({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
      const gate = createTlsServer(
        { SNICallback: (name, answer) => answer(null, name === "localhost" ? secureContext : undefined) },
        (socket) => {
          const target = connect(redis.port, "127.0.0.1").on("error", () => {});
          socket
            .on("error", () => {})
            .pipe(target)
            .pipe(socket);
        },
      ).listen(0, "127.0.0.1");
      await once(gate, "listening");
      onTestFinished(() => void gate.close());
      const { port } = gate.address() as AddressInfo;
      if (query !== "") {
        await redis.client.config("SET", "cluster-announce-port", port, "cluster-announce-tls-port", port);
      }
      const server = await start(`rediss://localhost:${port}${query}`, [], { NODE_EXTRA_CA_CERTS: certFile });
      await expect.poll(async () => (await shared(server)).away, { timeout: 20_000 }).toBeNull();
    }, 60_000);

    it("and with no other", async () => {
      for (const env of [{}, { NODE_TLS_REJECT_UNAUTHORIZED: "0" }]) {
        await awayBecause(/certificate/, env);
      }
    }, 60_000);

    it("and goes on without it where that wants to see a certificate", async () => {
      await redis.client.config("SET", "tls-auth-clients", "yes");
      await awayBecause(/certificate/, { NODE_EXTRA_CA_CERTS: certFile });
    }, 60_000);
  });
});
