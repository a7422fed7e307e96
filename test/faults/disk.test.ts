import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkDatabase } from "../../src/storage/sqlite/maintenance/check.ts";
import { until } from "../support/deadline.ts";
import { importFixture } from "../support/fixture.ts";
import { amount } from "../support/long.ts";
import { readMetrics } from "../support/metrics.ts";
import { report } from "../support/report.ts";
import { type TestServer, TestStore } from "../support/server.ts";
import { type Fault, FaultyDisk, hasFaultyDisk, serveFrom } from "./faulty-disk.ts";
import { KnownStock } from "./known-stock.ts";
import { ways } from "./ways.ts";

/** In each the disk fails from another call on: in the log, in its index, or when it is written back to the store. */
const rounds = amount(4, 80);

describe.skipIf(!hasFaultyDisk)("a disk (skipped without Linux and gcc)", () => {
  const store = new TestStore();
  let disk: FaultyDisk;
  let server: TestServer;
  let stock: KnownStock;

  beforeAll(async () => {
    await importFixture(store.db);
    stock = new KnownStock((await store.mintQuota(1_000_000_000, 1_000_000_000)).key);
    disk = new FaultyDisk(store);
    server = await serveFrom(disk, store);
  });

  afterAll(async () => {
    await server?.stop();
    disk?.remove();
  });

  it.each<[what: string, fault: Fault, code: string]>([
    ["is full", { on: ["writes"], error: "ENOSPC" }, "SQLITE_FULL"],
    ["is read-only", { on: ["writes"], error: "EROFS" }, "SQLITE_IOERR_WRITE"],
    ["cannot write", { on: ["writes"], error: "EIO" }, "SQLITE_IOERR_WRITE"],
    ["cannot sync", { on: ["syncs"], error: "EIO" }, "SQLITE_IOERR_FSYNC"],
  ])(
    `that %s has updates refused and reads answered until it is well again, ${rounds} times`,
    {
      timeout: amount(60_000, 480_000),
    },
    async (what, fault, code) => {
      const [beganMs, acknowledged] = [performance.now(), stock.acknowledged];
      for (let round = 0; round < rounds; round++) {
        if (round % 2 === 0) {
          fillLog(store.db);
        }
        await expectRefusals({ ...fault, after: round % 40 });
        if (round % 8 === 3) {
          await server.end("SIGKILL");
          server = await serveFrom(disk, store);
          await stock.expectIn(server);
        }
      }
      await expectTold(fault, code);
      expect(await checkDatabase(store.db, "full")).toEqual([]);
      const seconds = Math.round((performance.now() - beganMs) / 1_000);
      report(`a disk that ${what}`, { rounds, acknowledged: stock.acknowledged - acknowledged, seconds });
    },
  );

  it("that cannot read refuses what it cannot tell, and says nothing wrong", async () => {
    const codes = new Set<string>();
    for (let round = 0; round < amount(10, 200); round++) {
      // What others write is read anew from the disk.
      writeTimes(1, store.db);
      disk.break({ on: ["reads"], error: "EIO", after: round % 10 });
      for (const way of ways) {
        codes.add((await stock.update(server, way)) ?? "OK");
        codes.add((await stock.look(server, way)) ?? "OK");
      }
      disk.heal();
      expect(await stock.update(server)).toBeUndefined();
      await stock.expectIn(server);
    }
    expect(codes).toEqual(new Set(["OK", "UNAVAILABLE"]));
  });

  async function expectRefusals(fault: Fault): Promise<void> {
    disk.break(fault);
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
    const hadFailed = disk.failed > 0;
    const code = await stock.update(server);
    // Nothing that begins on a disk which has failed may succeed.
    expect(hadFailed && code === undefined).toBe(false);
    return code === "UNAVAILABLE";
  }

  /** The log names the cause as SQLite does, and the metrics count. */
  async function expectTold(fault: Fault, code: string): Promise<void> {
    const count = async () => (await readMetrics(server)).sum("petstore_calls_total", { code: "UNAVAILABLE" });
    const [before, logged] = [await count(), server.log.length];
    disk.break(fault);
    expect(await stock.update(server)).toBe("UNAVAILABLE");
    disk.heal();
    expect(await count()).toBe(before + 1);
    await until(async () => server.log.slice(logged).includes(code), 10_000);
  }
});

/** Lengthens the log so far that it is written back to the store by the server's next update. */
function fillLog(db: string): void {
  writeTimes(4_000, db);
}

/** Has another process change the store so often. */
function writeTimes(times: number, db: string): void {
  const driver = new Sqlite(db);
  driver.pragma("wal_autocheckpoint = 0");
  driver.pragma("synchronous = OFF");
  const write = driver.prepare("UPDATE orders SET quantity = quantity + 1 WHERE id = 1");
  for (let frame = 0; frame < times; frame++) {
    write.run();
  }
  driver.close();
}
