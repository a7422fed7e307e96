import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  createPetstoreClient,
  type InventoryMirror,
  PetStatus,
  type PetstoreClient,
  type PetstoreClientOptions,
  reasonOf,
  type TransportOptions,
} from "../../client/src/index.ts";
import { systemTiming, type Timing } from "../../client/src/timing.ts";
import { until } from "../support/deadline.ts";
import { importFixture } from "../support/fixture.ts";
import { type MintedKey, serve, type TestServer, TestStore } from "../support/server.ts";
import { type Cut, CuttingProxy, cuts } from "./cutting-proxy.ts";

/** Without pings, HTTP/2 opens the next stream over the same dead connection. */
const pings = { pingIntervalMs: 100, pingTimeoutMs: 1_000 };

const transports: { name: string; transport?: (options: TransportOptions) => Transport }[] = [
  { name: "the default transport" },
  { name: "Connect", transport: (options) => createConnectTransport({ httpVersion: "1.1", ...options }) },
  {
    name: "Connect, HTTP/2",
    transport: (options) => createConnectTransport({ httpVersion: "2", ...pings, ...options }),
  },
  { name: "gRPC", transport: (options) => createGrpcTransport({ ...pings, ...options }) },
  { name: "gRPC-Web", transport: (options) => createGrpcWebTransport({ httpVersion: "1.1", ...options }) },
];

/** Thirty times as fast: a stall is one after one and a half seconds. */
const hastyTiming: Timing = {
  now: () => Date.now() * 30,
  random: Math.random,
  sleep: (delayMs, signal) => systemTiming.sleep(delayMs / 30, signal),
};

let store: TestStore;
let server: TestServer;
let proxy: CuttingProxy;
let key: MintedKey;
/** Changes the stock. It goes around the proxy. */
let writer: PetstoreClient;
const mirrors: InventoryMirror[] = [];

async function start(): Promise<void> {
  server = await serve(store);
  writer = createPetstoreClient({ baseUrl: server.origin, apiKey: key.key });
}

beforeAll(async () => {
  store = new TestStore();
  await importFixture(store.db);
  key = await store.mintQuota(1_000_000, 1_000_000);
  await start();
});

// A new one, since clients keep connections that a test has silenced.
beforeEach(async () => {
  proxy = await CuttingProxy.start(() => server.port);
});

afterEach(async () => {
  await Promise.all(mirrors.splice(0).map((mirror) => mirror.close()));
  proxy.stop();
});

afterAll(() => server?.stop());

function open(options: Partial<PetstoreClientOptions>): PetstoreClient {
  return createPetstoreClient({ baseUrl: proxy.origin, apiKey: key.key, ...options });
}

async function set(petId: bigint, quantity: bigint): Promise<bigint> {
  await writer.inventory.updateInventory({ petId, update: { quantity } });
  const { changes } = await writer.inventory.listStockChanges({ newestFirst: true, pageSize: 1 });
  return changes[0]?.revision ?? 0n;
}

async function head(): Promise<string> {
  const { changes } = await writer.inventory.listStockChanges({ newestFirst: true, pageSize: 1 });
  return changes[0]?.cursor ?? "";
}

/** Whether a mirror shows exactly what the service lists. */
async function isTrue(mirror: InventoryMirror): Promise<boolean> {
  const items = await Array.fromAsync(writer.listInventory());
  const differs = items.some(({ petId, quantity, status }) => {
    const entry = mirror.get(petId);
    return entry?.quantity !== quantity || entry.status !== status;
  });
  return !differs && mirror.size === items.length;
}

/** Follows the changes from now on, until they are as new as a revision. */
function follow(client: PetstoreClient, after: string) {
  const revisions: bigint[] = [];
  const watch = client.watchStockChanges({ after });
  async function readTo(last: bigint): Promise<bigint[]> {
    for (;;) {
      const { value, done } = await watch.next();
      if (done === true) {
        return revisions;
      }
      revisions.push(value.revision);
      if (value.revision >= last) {
        await watch.return();
        return revisions;
      }
    }
  }
  return { watch, readTo };
}

function expectGapless(revisions: readonly bigint[]): void {
  const [first = 0n] = revisions;
  expect(revisions).toEqual(revisions.map((_, index) => first + BigInt(index)));
}

describe.each(transports)("over $name", ({ transport }) => {
  it.each<Cut>(cuts)("connections that end with a %s lose and repeat nothing", { timeout: 120_000 }, async (how) => {
    const client = open({ transport, timing: hastyTiming });
    const after = await head();
    const { readTo, watch } = follow(client, after);
    const mirror = await client.mirrorInventory();
    mirrors.push(mirror);
    const first = await set(7n, 0n);
    const reading = readTo(first + 20n);
    for (let quantity = 1n; quantity <= 20n; quantity += 1n) {
      await set(7n, quantity);
      if (quantity % 5n === 0n) {
        await until(async () => mirror.get(7n)?.quantity === quantity, 25_000);
        proxy.cut(how);
      }
    }
    const revisions = await reading;
    expect([revisions[0], revisions.length]).toEqual([first, 21]);
    expectGapless(revisions);
    await until(() => isTrue(mirror), 5_000);
    expect(await watch.next()).toEqual({ done: true, value: undefined });
  });

  it("a watch that is left gives its place back, and its connection", async () => {
    const { key: apiKey } = await store.mintQuota(1_000, 1_000);
    const client = open({ transport, apiKey });
    const after = await head();
    await set(7n, 1n);
    for (let round = 0; round < 40; round += 1) {
      const watch = client.watchStockChanges({ after });
      await watch.next();
      const waiting = watch.next();
      await watch.return();
      expect(await waiting).toEqual({ done: true, value: undefined });
    }
  });

  it("a stream without reconnection gives its place back when its loop is left", async () => {
    const { key: apiKey } = await store.mintQuota(1_000, 1_000);
    const client = open({ transport, apiKey });
    const after = await head();
    const revision = await set(7n, 1n);
    for (let round = 0; round < 40; round += 1) {
      for await (const { change } of client.inventory.watchStockChanges({ after })) {
        expect(change?.revision).toBe(revision);
        break;
      }
    }
  });

  it("a watch ends when its key is revoked, and a mirror fails", async () => {
    const revoked = await store.mintKey();
    const client = open({ transport, apiKey: revoked.key });
    const mirror = await client.mirrorInventory();
    const { watch } = follow(client, await head());
    const failed = watch.next().catch(reasonOf);
    const closed = mirror.closed.catch(reasonOf);
    await until(async () => mirror.cursor !== "", 1_000);
    await store.run("keys", "revoke", revoked.id);
    expect(await Promise.all([failed, closed])).toEqual(["API_KEY_REVOKED", "API_KEY_REVOKED"]);
  });

  it("a thirty-third watch of a key is refused", async () => {
    const { key: apiKey } = await store.mintQuota(1_000, 1_000);
    const client = open({ transport, apiKey, timing: hastyTiming });
    const after = await head();
    await set(7n, 1n);
    const watches = Array.from({ length: 32 }, () => client.watchStockChanges({ after }));
    await Promise.all(watches.map((watch) => watch.next()));
    await expect(client.watchStockChanges().next()).rejects.toSatisfy(
      (error) => reasonOf(error) === "TOO_MANY_STREAMS",
    );
    await Promise.all(watches.map((watch) => watch.return()));
  });
});

describe("a mirror", () => {
  it("outlasts servers that end by themselves, or are killed", { timeout: 60_000 }, async () => {
    /** The transports whose mirrors have lost the connection. */
    const lost = new Set<string>();
    const { readTo } = follow(open({}), await head());
    mirrors.push(
      ...(await Promise.all(
        transports.map(({ name, transport }) => open({ transport }).mirrorInventory({ onLost: () => lost.add(name) })),
      )),
    );
    const first = await set(7n, 50n);
    const signals = ["SIGTERM", "SIGKILL", "SIGTERM"] as const;
    const reading = readTo(first + BigInt(signals.length));
    let quantity = 50n;
    for (const signal of signals) {
      lost.clear();
      await server.end(signal);
      await start();
      quantity += 1n;
      await set(7n, quantity);
      for (const mirror of mirrors) {
        await until(() => isTrue(mirror), 10_000);
      }
      expect([...lost].sort()).toEqual(transports.map(({ name }) => name).sort());
    }
    expectGapless(await reading);
  });

  it("shows the status, and the new pets, of an import", async () => {
    const reasons: unknown[] = [];
    const mirror = await open({}).mirrorInventory({ onRelist: (reason) => reasons.push(reason) });
    mirrors.push(mirror);
    const file = join(store.directory, "import.csv");
    writeFileSync(file, "id,name,category,photoUrls,tags,status,quantity\n7,Zoe,,,,sold,3\n70,New,,,,pending,4\n");
    await store.run("import", file);
    await until(async () => mirror.has(70n), 5_000);
    expect(mirror.get(70n)).toEqual({ petId: 70n, quantity: 4n, status: PetStatus.PENDING });
    expect(mirror.get(7n)).toEqual({ petId: 7n, quantity: 3n, status: PetStatus.SOLD });
    expect(reasons).toContain("imported");
    await set(70n, 5n);
    await until(() => isTrue(mirror), 5_000);
  });

  it("lists anew when an older backup is restored, and a watch ends", { timeout: 60_000 }, async () => {
    const reasons: unknown[] = [];
    const backup = join(store.directory, "backup.db");
    await store.run("backup", backup);
    await set(7n, 77n);
    const client = open({});
    const mirror = await client.mirrorInventory({ onRelist: (reason) => reasons.push(reason) });
    mirrors.push(mirror);
    expect(mirror.get(7n)?.quantity).toBe(77n);
    const watch = client.watchStockChanges({ after: mirror.cursor });
    const failed = watch.next().catch(reasonOf);
    await server.end();
    await store.run("restore", backup);
    await start();
    expect(await failed).toBe("CURSOR_EXPIRED");
    await until(async () => mirror.get(7n)?.quantity !== 77n, 10_000);
    expect(reasons).toEqual(["expired"]);
    await set(7n, 78n);
    await until(() => isTrue(mirror), 5_000);
  });
});
