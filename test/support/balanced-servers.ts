import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Target } from "./clients/client.ts";
import { until } from "./deadline.ts";
import { endWithProcess } from "./end-with-process.ts";
import { importFixture } from "./fixture.ts";
import { isInstalled } from "./installed.ts";
import { projectRoot, type Running, startPetstore } from "./petstore.ts";
import { createDatabase, type TestDatabase } from "./postgres/databases.ts";
import { postgresPrograms } from "./postgres/programs.ts";
import { freePort, hasRedis, RedisServer } from "./redis-server.ts";

export const balancerConfig = join(projectRoot, "ops/haproxy.cfg");

/** What a test with several servers lacks on this machine, in a line; undefined where all is there. */
export const missingForBalancer = [
  ...(isInstalled("haproxy") ? [] : ["haproxy"]),
  ...(postgresPrograms === undefined ? ["postgresql-15"] : []),
  ...(hasRedis ? [] : ["redis-server"]),
].join(" ");

/** One of the servers behind the balancer. */
class BalancedServer {
  readonly #flags: readonly string[];
  readonly #port: number;
  readonly #opsPort: number;
  #running: Running | undefined;

  constructor(flags: readonly string[], port: number, opsPort: number) {
    this.#flags = flags;
    this.#port = port;
    this.#opsPort = opsPort;
  }

  get opsOrigin(): string {
    return `http://127.0.0.1:${this.#opsPort}`;
  }

  /** Its place in the balancer's configuration. */
  get place(): string {
    return `127.0.0.1:${this.#port} port ${this.#opsPort}`;
  }

  get log(): string {
    return this.#running?.log() ?? "";
  }

  /** Starts it, on the same ports each time. */
  async start(): Promise<void> {
    const ports = ["--port", String(this.#port), "--ops-port", String(this.#opsPort)];
    this.#running = startPetstore(["serve", ...ports, ...this.#flags]);
    if ((await this.#running.nextLine()) === undefined) {
      throw new Error(`the server ended before it was ready: ${this.log}`);
    }
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    await this.#running?.end(signal);
  }
}

/** Three servers on one PostgreSQL and one Valkey, behind the load balancer of compose.cluster.yaml. */
export class BalancedServers implements Target {
  readonly database: TestDatabase;
  readonly nodes: readonly BalancedServer[];
  readonly origin: string;
  readonly #redis: RedisServer;
  readonly #balancers: ChildProcess[];

  private constructor(
    database: TestDatabase,
    redis: RedisServer,
    nodes: readonly BalancedServer[],
    balancer: Balancer,
  ) {
    this.database = database;
    this.nodes = nodes;
    this.origin = balancer.origin;
    this.#redis = redis;
    this.#balancers = [balancer.process];
  }

  static async start(): Promise<BalancedServers> {
    const database = await createDatabase();
    await importFixture(database.url);
    const redis = await RedisServer.start({ args: ["--appendonly", "yes"] });
    const stores = ["--database", database.url, "--limits", redis.url];
    const flags = [...stores, "--trusted-proxy", "127.0.0.1/32", "--log-level", "debug"];
    const nodes: BalancedServer[] = [];
    for (let count = 0; count < 3; count++) {
      nodes.push(new BalancedServer(flags, await freePort(), await freePort()));
    }
    await Promise.all(nodes.map((node) => node.start()));
    return new BalancedServers(database, redis, nodes, await startBalancer(nodes));
  }

  /** The same servers behind another balancer, of a configuration that `edit` has changed. */
  async behindAnother(edit: (config: string) => string): Promise<Target> {
    const { origin, process } = await startBalancer(this.nodes, edit);
    this.#balancers.push(process);
    return { origin };
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.end("SIGKILL")));
    for (const balancer of this.#balancers) {
      balancer.kill("SIGKILL");
    }
    await this.#redis.stop();
    await this.database.remove();
  }
}

interface Balancer {
  readonly origin: string;
  readonly process: ChildProcess;
}

/** The configuration in `ops/`, with other addresses, and for fewer connections than many shells have files. */
async function startBalancer(nodes: readonly BalancedServer[], edit = (config: string) => config): Promise<Balancer> {
  const port = await freePort();
  const config = nodes.reduce(
    (text, { place }, index) => text.replace(`petstore-${index + 1}:8080 port 9090`, place),
    readFileSync(balancerConfig, "utf8")
      .replace(/^ {2}bind :8080$/m, `  bind 127.0.0.1:${port}`)
      .replace(/maxconn \d+/, "maxconn 400"),
  );
  const folder = mkdtempSync(join(tmpdir(), "petstore-haproxy-"));
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, edit(config));
  const child = spawn("haproxy", ["-db", "-f", file], { stdio: ["ignore", "pipe", "pipe"] });
  endWithProcess(child);
  let log = "";
  for (const output of [child.stdout, child.stderr]) {
    output.on("data", (text: Buffer) => {
      log += text.toString();
    });
  }
  const ended = once(child, "exit").then(() => {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`HAProxy has ended: ${log}`);
  });
  // It ends with its test, too.
  ended.catch(() => {});
  const origin = `http://127.0.0.1:${port}`;
  const answers = async () => (await fetch(`${origin}/docs`).catch(() => undefined))?.ok === true;
  await Promise.race([until(answers, 30_000), ended]).catch((error) => {
    throw new Error(`${error}: ${log}`);
  });
  return { origin, process: child };
}
