import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { importFixture, pets, toCsv } from "../support/fixture.ts";
import { amount } from "../support/long.ts";
import { outputOf, petstore } from "../support/petstore.ts";
import { clusterPort, reserveDatabase } from "../support/postgres/databases.ts";
import { DatabaseProxy } from "../support/postgres/proxy.ts";
import type { Random } from "../support/random.ts";
import { RedisServer } from "../support/redis-server.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";

const count = 3;

/** Of the key, each minute and each day. */
const quota = [1_000_000_000, 1_000_000_000] as const;

/** How long what is promised may take, in milliseconds: longer where the machine does other things, too. */
export function promisedMs(ms: number): number {
  return amount(3 * ms, ms);
}

/** How the servers differ from the usual. */
interface NodesOptions {
  /** Where their PostgreSQL is; that of the test run by default. */
  readonly postgresPort?: number;
  /** Whether each server has a proxy between itself and the database. */
  readonly isProxied?: boolean;
  /** The checkout of an earlier version, which makes the database, and whose servers run until they are restarted. */
  readonly former?: string | undefined;
  /** Further flags of a server. */
  readonly flags?: (index: number) => readonly string[];
  /** Further variables of a server. */
  readonly env?: (index: number) => Readonly<Record<string, string>>;
}

/** Three servers over one PostgreSQL database and one Valkey, with the fixture. */
export class Nodes {
  readonly store: TestStore;
  /** A key without limits, as far as a test could reach them. */
  readonly key: string;
  readonly redis: RedisServer;
  /** Those between each server and the database, where there are any. */
  readonly proxies: readonly DatabaseProxy[];
  readonly servers: TestServer[] = [];
  readonly #options: NodesOptions;

  private constructor(parts: Pick<Nodes, "store" | "key" | "redis" | "proxies">, options: NodesOptions) {
    this.store = parts.store;
    this.key = parts.key;
    this.redis = parts.redis;
    this.proxies = parts.proxies;
    this.#options = options;
  }

  static async start(options: NodesOptions = {}): Promise<Nodes> {
    const postgresPort = options.postgresPort ?? (await clusterPort());
    const store = new TestStore(reserveDatabase(postgresPort));
    await store.prepare();
    const key = await (options.former === undefined ? fill(store) : fillByCommands(store, options.former));
    const proxied = options.isProxied === true ? count : 0;
    const proxies = await Promise.all(Array.from({ length: proxied }, () => DatabaseProxy.start(postgresPort)));
    const nodes = new Nodes({ store, key, redis: await RedisServer.start(), proxies }, options);
    nodes.servers.push(
      ...(await Promise.all(Array.from({ length: count }, (_, index) => nodes.#serve(index, options.former)))),
    );
    // The first calls load modules and connect, which takes seconds where the machine has much else to do.
    await nodes.each((server) => until(() => isWell(server, key), 30_000));
    return nodes;
  }

  get ports(): readonly number[] {
    return this.servers.map(({ port }) => port);
  }

  /** Any of the servers. */
  pick(random: Random): TestServer {
    return random.pick(this.servers);
  }

  /** Asks each server. */
  each<T>(ask: (server: TestServer, index: number) => Promise<T>): Promise<T[]> {
    return Promise.all(this.servers.map(ask));
  }

  /** Ends a server, and starts it again on its port. */
  async restart(index: number, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const ended = this.servers[index] as TestServer;
    await ended.end(signal);
    this.servers[index] = await this.#serve(index, undefined, "--port", String(ended.port));
    // Calls in vain have opened connections again.
    ended.closeClients();
  }

  async stop(): Promise<void> {
    for (const proxy of this.proxies) {
      proxy.thaw();
    }
    await this.each((server) => server.end("SIGKILL"));
    await Promise.all(this.proxies.map((proxy) => proxy.close()));
    await this.redis.stop();
    this.store.remove();
  }

  #serve(index: number, checkout: string | undefined, ...more: readonly string[]): Promise<TestServer> {
    const { flags, env } = this.#options;
    const database = new URL(this.store.db);
    database.port = String(this.proxies[index]?.port ?? database.port);
    const all = ["--database", database.href, "--limits", this.redis.url, ...(flags?.(index) ?? []), ...more];
    return serve(this.store, { flags: all, env: env?.(index) ?? {}, ...(checkout !== undefined && { checkout }) });
  }
}

/** Fills a store with the fixture. Returns a key. */
async function fill(store: TestStore): Promise<string> {
  await importFixture(store.db);
  return (await store.mintQuota(...quota)).key;
}

/** The same by the commands of another checkout, and without orders and holds. */
async function fillByCommands(store: TestStore, checkout: string): Promise<string> {
  const file = join(store.directory, "pets.csv");
  writeFileSync(file, toCsv(pets));
  const run = async (...args: readonly string[]) =>
    outputOf(args, await petstore([...args, ...store.flags], { checkout }));
  await run("import", file);
  const [perMinute, perDay] = quota;
  const limits = ["--per-minute", String(perMinute), "--per-day", String(perDay)];
  return JSON.parse(await run("keys", "create", "--json", "--plan", "enterprise", ...limits)).key;
}

/** Whether a server reads and writes the stock. It changes nothing. */
export async function isWell(server: TestServer, key: string): Promise<boolean> {
  const outcomes = await Promise.all([
    server.call(rest, "getInventory", { petId: 6n }, { key }),
    server.call(rest, "releaseHold", { holdId: "hold_of_nobody" }, { key }),
  ]).catch(() => []);
  return outcomes.length === 2 && outcomes[0].failure === undefined && outcomes[1].failure?.code === "HOLD_NOT_FOUND";
}
