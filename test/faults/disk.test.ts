import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import { importFixture } from "../support/fixture.ts";
import { amount } from "../support/long.ts";
import { readMetrics } from "../support/metrics.ts";
import { report } from "../support/report.ts";
import { type TestServer, TestStore } from "../support/server.ts";
import { type Fault, FaultyDisk, noFaultyDisk, serveFrom } from "./faulty-disk.ts";
import { KnownStock } from "./known-stock.ts";
import { ways } from "./ways.ts";

/** In each the disk fails from another call on: in the log, in its index, or when it is written back to the store. */
const rounds = amount(4, 80);

describe.skipIf(noFaultyDisk !== undefined).each<[what: string, fault: Fault]>([
  ["is full", { on: ["writes"], error: "ENOSPC" }],
  ["is read-only", { on: ["writes"], error: "EROFS" }],
  ["cannot write", { on: ["writes"], error: "EIO" }],
  ["cannot sync", { on: ["syncs"], error: "EIO" }],
])("a disk that suddenly %s", (what, fault) => {
  const store = new TestStore();
  let disk: FaultyDisk;
  let server: TestServer;
  let stock: KnownStock;

  beforeAll(async () => {
    await importFixture(store.db, store.directory);
    stock = new KnownStock((await store.mintQuota(1_000_000_000, 1_000_000_000)).key);
    disk = new FaultyDisk(store);
    server = await serveFrom(disk, store);
  });

  afterAll(async () => {
    await server?.stop();
    disk?.remove();
  });

  it(`has updates refused and reads answered, until it is well again, ${rounds} times over`, {
    timeout: amount(60_000, 480_000),
  }, async () => {
    const beganMs = performance.now();
    for (let round = 0; round < rounds; round++) {
      if (round % 2 === 0) {
        fillLog(store.db);
      }
      await expectRefusalsFrom(round % 40);
      if (round % 8 === 3) {
        await server.end("SIGKILL");
        server = await serveFrom(disk, store);
        await stock.expectIn(server);
      }
    }
    expect(await store.run("check")).toContain("sound");
    const seconds = Math.round((performance.now() - beganMs) / 1_000);
    report(`a disk that suddenly ${what}`, { rounds, acknowledged: stock.acknowledged, seconds });
  });

  /** From so many calls on. */
  async function expectRefusalsFrom(call: number): Promise<void> {
    disk.break({ ...fault, after: call });
    await until(updateIsRefused, 10_000);
    for (const way of ways) {
      expect(await stock.update(server, way), way.name).toBe("UNAVAILABLE");
      await stock.expectIn(server, way);
    }
    disk.heal();
    for (const way of ways) {
      expect(await stock.update(server, way), way.name).toBeUndefined();
      await stock.expectIn(server, way);
    }
  }

  async function updateIsRefused(): Promise<boolean> {
    const failedBefore = disk.failed > 0;
    const code = await stock.update(server);
    // Nothing that needs a disk which has failed before it began may succeed.
    expect(failedBefore && code === undefined).toBe(false);
    return code === "UNAVAILABLE";
  }

  it("is told by the log and the metrics", async () => {
    disk.break(fault);
    expect(await stock.update(server)).toBe("UNAVAILABLE");
    disk.heal();
    expect(server.log).toMatch(/"code":"UNAVAILABLE"/);
    expect(server.log).toMatch(/"code":"SQLITE_(FULL|IOERR\w*)"/);
    const metrics = await readMetrics(server);
    expect(metrics.sum("petstore_calls_total", { code: "UNAVAILABLE" })).toBeGreaterThan(0);
  });
});

/** Lengthens the log so far that it is written back to the store by the server's next update. */
function fillLog(db: string): void {
  const driver = new Sqlite(db);
  driver.pragma("wal_autocheckpoint = 0");
  driver.pragma("synchronous = OFF");
  const write = driver.prepare("UPDATE orders SET quantity = ? WHERE id = 1");
  for (let frame = 0; frame < 4_000; frame++) {
    write.run(frame);
  }
  driver.close();
}
