import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPetstoreClient } from "../../client/src/index.ts";
import manifest from "../../package.json" with { type: "json" };
import { StockLoad } from "../faults/stock/load.ts";
import { Balancer } from "../support/balancer.ts";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { canHaveNodes } from "../support/left-out.ts";
import { amount, isLong } from "../support/long.ts";
import { samples } from "../support/operations.ts";
import { runSql } from "../support/postgres/databases.ts";
import { Random } from "../support/random.ts";
import { report } from "../support/report.ts";
import { UpdateLoad } from "../support/update-load.ts";
import { Nodes } from "./nodes.ts";

/** Of all servers, one after the other. */
const rounds = amount(1, 10);

/** The default suffices where the machine does nothing else: where it does, a server may take seconds to start. */
const retry = isLong ? {} : { maxAttempts: 12 };

interface Restarts {
  readonly restarts: number;
  /** Called after each of them. */
  readonly restarted?: () => Promise<void>;
}

/** Restarts one server after the other, while clients that try again update pets through the balancer. */
async function restartInTurn(nodes: Nodes, balancer: Balancer, { restarts, restarted }: Restarts): Promise<UpdateLoad> {
  const { key: apiKey } = nodes;
  const baseUrl = `http://127.0.0.1:${balancer.port}`;
  const load = new UpdateLoad(() => createPetstoreClient({ baseUrl, apiKey, transport: createGrpcTransport, retry }));
  for (let restart = 0; restart < restarts; restart += 1) {
    await load.allAtWork();
    await nodes.restart(restart % nodes.servers.length, "SIGTERM");
    await restarted?.();
  }
  await load.allAtWork();
  await load.stop();
  return load;
}

describe.runIf(canHaveNodes)("three servers behind a load balancer", () => {
  let nodes: Nodes;
  let balancer: Balancer;

  beforeAll(async () => {
    nodes = await Nodes.start();
    balancer = await Balancer.start(nodes.ports);
  });

  afterAll(async () => {
    balancer?.close();
    await nodes?.stop();
  });

  it("are restarted one after the other without an error at clients that try again", {
    timeout: amount(90_000, 600_000),
  }, async () => {
    const restarts = rounds * nodes.servers.length;
    const { errors, calls } = await restartInTurn(nodes, balancer, { restarts });
    expect(errors).toEqual([]);
    report("rolling restart", { restarts, calls });
  });
});

/** The checkout of an earlier version, with its dependencies, where there is one. */
const former = process.env.PETSTORE_TEST_FORMER;

describe.runIf(canHaveNodes && former !== undefined)("three servers of an earlier version", () => {
  let nodes: Nodes;
  let balancer: Balancer;

  beforeAll(async () => {
    nodes = await Nodes.start({ former });
    balancer = await Balancer.start(nodes.ports);
  }, 60_000);

  afterAll(async () => {
    balancer?.close();
    await nodes?.stop();
  });

  it("are replaced by this version one after the other without an error at clients that try again", {
    timeout: 90_000,
  }, async () => {
    const versions = [await versionsOf(nodes.store.db)];
    const { errors, calls } = await restartInTurn(nodes, balancer, {
      restarts: nodes.servers.length,
      restarted: async () => void versions.push(await versionsOf(nodes.store.db)),
    });
    expect(errors).toEqual([]);
    const [earlier = ""] = versions[0] ?? [];
    expect(earlier).not.toBe(manifest.version);
    expect(versions).toEqual(
      [0, 1, 2, 3].map((count) => [0, 1, 2].map((i) => (i < count ? manifest.version : earlier))),
    );
    report("rolling upgrade", { from: earlier, to: manifest.version, calls });
  });
});

/** The versions of the servers, the latest first. */
async function versionsOf(url: string): Promise<string[]> {
  const [found] = await runSql(url, "SELECT version FROM servers ORDER BY started_at DESC");
  return (found?.rows ?? []).map(({ version }) => version);
}

/** What a later version may do to a database that this one uses: see `migrations.ts`. */
async function addToEverything(url: string): Promise<void> {
  const [found] = await runSql(url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()");
  const tables: string[] = (found?.rows ?? []).map(({ tablename }) => tablename);
  const columns = tables.map((table) => `ALTER TABLE ${table} ADD COLUMN added_later text DEFAULT 'new'`);
  const table = "CREATE TABLE added_later AS SELECT clock_timestamp() AS at";
  // One transaction for all of it could meet those of the servers in a circle.
  await runSql(url, ...columns, "UPDATE petstore_schema SET version = version + 1", table);
}

/** Whether all that servers write by themselves was written since then: signs of life, claims, counts. */
async function haveAllWritten(url: string): Promise<boolean> {
  const [result] = await runSql(
    url,
    `SELECT (SELECT bool_and(last_seen_at > at) FROM servers)
       AND (SELECT bool_and(claimed_until > at + interval '6 seconds') FROM webhooks)
       AND (SELECT count(*) FROM usage_saves WHERE saved_at > at) >= 3 AS all_written FROM added_later`,
  );
  return result?.rows[0]?.all_written === true;
}

describe.runIf(canHaveNodes)("servers whose database a later version has migrated", () => {
  let nodes: Nodes;

  beforeAll(async () => {
    nodes = await Nodes.start();
  });

  afterAll(() => nodes?.stop());

  it("go on as before", { timeout: 60_000 }, async () => {
    const { key } = nodes;
    const { key: unused } = await nodes.store.mintQuota(1_000, 1_000);
    await nodes.store.run("webhooks", "create", "--url", "http://127.0.0.1:9/");
    const random = new Random(Date.now());
    const load = new StockLoad(() => nodes.pick(random), key);
    await load.begin();
    const running = load.run(8);
    const reads = samples.filter(({ operation }) => /^(get|list)/.test(operation));
    const readAll = (secret: string) =>
      nodes.each((server) =>
        Promise.all(
          reads.map(
            async ({ operation, input }) => (await server.call(rest, operation, input, { key: secret })).failure,
          ),
        ),
      );
    const allWell = nodes.servers.map(() => reads.map(() => undefined));
    expect(await readAll(key)).toEqual(allWell);
    const before = load.calls.length;
    await until(async () => load.calls.length > before + 200, 20_000);

    await addToEverything(nodes.store.db);
    const after = load.calls.length;
    expect(await readAll(key)).toEqual(allWell);
    expect(await readAll(unused)).toEqual(allWell);
    await until(async () => load.calls.length > after + 200, 20_000);
    load.stop();
    await running;
    expect(await load.findContradiction()).toBeUndefined();
    await until(() => haveAllWritten(nodes.store.db), 10_000);
    for (const { log } of nodes.servers) {
      expect(log.split("\n").filter((line) => /"level":[56]0/.test(line))).toEqual([]);
    }
  });
});
