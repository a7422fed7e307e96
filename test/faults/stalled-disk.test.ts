import { performance } from "node:perf_hooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Protocol, protocolNamed, rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectSuccess } from "../support/expectations.ts";
import { importFixture } from "../support/fixture.ts";
import { amount } from "../support/long.ts";
import { report } from "../support/report.ts";
import { type TestServer, TestStore } from "../support/server.ts";
import { FaultyDisk, hasFaultyDisk, serveFrom } from "./faulty-disk.ts";
import { ways } from "./ways.ts";

/** The ways in on which a caller tells how long it will wait, and how. */
const impatient: readonly [Protocol, Readonly<Record<string, string>>][] = [
  [protocolNamed("Connect JSON, HTTP/1.1"), { "connect-timeout-ms": "300" }],
  [protocolNamed("gRPC"), { "grpc-timeout": "300m" }],
  [protocolNamed("gRPC-Web, HTTP/1.1"), { "grpc-timeout": "300m" }],
];

describe.skipIf(!hasFaultyDisk)("a disk whose sync stands still (skipped without Linux and gcc)", () => {
  const store = new TestStore();
  let disk: FaultyDisk;
  let server: TestServer;
  let key: string;

  beforeAll(async () => {
    await importFixture(store.db);
    ({ key } = await store.mintQuota(1_000_000_000, 1_000_000_000));
    disk = new FaultyDisk(store);
    server = await serveFrom(disk, store, ["--shutdown-grace", "2s"]);
  });

  afterAll(async () => {
    await server?.stop();
    disk?.remove();
  });

  const update = (way: Protocol, quantity: bigint, headers: Readonly<Record<string, string>> = {}) =>
    server.call(way, "updateInventory", { petId: 7n, update: { quantity } }, { key, headers });

  const readiness = async () => {
    const answer = await fetch(`${server.opsOrigin}/readyz`);
    return { status: answer.status, text: await answer.text() };
  };

  const quantityOf7 = async (way: Protocol) => {
    const { items } = expectSuccess(await server.call(way, "listInventory", {}, { key }));
    return items.find(({ petId }) => petId === 7n)?.quantity;
  };

  it("has deadlines kept, reads answered, probes told, and the updates done when it goes on", async () => {
    disk.break({ on: ["syncs"], delayMs: 600_000 });
    const waiting = update(rest, 100n);
    await until(async () => disk.seen > 0, 10_000);
    for (const [way, headers] of impatient) {
      const beganMs = performance.now();
      const { failure } = await update(way, 200n, headers);
      // That it is past its deadline would say that nothing will change, and nobody knows that.
      expect(failure?.code, way.name).toBe("UNAVAILABLE");
      expect(performance.now() - beganMs).toBeLessThan(amount(6_000, 3_000));
    }
    for (const way of ways) {
      expect(await quantityOf7(way), way.name).toBe(12n);
    }
    await until(async () => (await readiness()).status === 503, 10_000);
    expect(await readiness()).toEqual({ status: 503, text: "the store does not answer\n" });
    disk.heal();
    expectSuccess(await waiting);
    await until(async () => (await readiness()).status === 200, 5_000);
    for (const way of ways) {
      await until(async () => (await quantityOf7(way)) === 200n, 5_000);
    }
  });

  it("does not keep the server from ending within its grace", async () => {
    disk.break({ on: ["syncs"], delayMs: 600_000 });
    const waiting = update(rest, 300n).catch(() => undefined);
    await until(async () => disk.seen > 0, 10_000);
    const beganMs = performance.now();
    const exit = await server.end();
    const seconds = (performance.now() - beganMs) / 1_000;
    disk.heal();
    await waiting;
    report("end on a disk that stands still", { exit, seconds });
    expect(seconds).toBeLessThan(10);
    expect(server.log).toContain("the server exits, although its disk does not respond");
    server = await serveFrom(disk, store);
    expect([200n, 300n]).toContain(await quantityOf7(rest));
  });

  it("does not keep the server from ending at a second signal", async () => {
    disk.break({ on: ["syncs"], delayMs: 600_000 });
    const waiting = update(rest, 400n).catch(() => undefined);
    await until(async () => disk.seen > 0, 10_000);
    process.kill(server.pid, "SIGTERM");
    await until(async () => (await readiness()).text === "stopping\n", 5_000);
    // A signal that comes sooner counts as the first one.
    const toldAtMs = performance.now();
    await until(async () => performance.now() - toldAtMs > 600, 5_000);
    const beganMs = performance.now();
    const exit = await server.end();
    const seconds = (performance.now() - beganMs) / 1_000;
    disk.heal();
    await waiting;
    report("end at a second signal on a disk that stands still", { exit, seconds });
    expect(seconds).toBeLessThan(5);
    server = await serveFrom(disk, store);
    expect([200n, 300n, 400n]).toContain(await quantityOf7(rest));
  });
});
