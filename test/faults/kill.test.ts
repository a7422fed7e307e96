import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { expectSuccess } from "../support/expectations.ts";
import { importFixture } from "../support/fixture.ts";
import { amount } from "../support/long.ts";
import { report } from "../support/report.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";
import { FaultyDisk, hasFaultyDisk } from "./faulty-disk.ts";
import { SharedPets } from "./shared-pets.ts";
import { ways } from "./ways.ts";

const rounds = amount(10, 200);
const clientsPerWay = 2;

/** Longer in the long run, so that counts are saved now and then before the server is killed. */
const longestLifeMs = amount(400, 1_500);

/** Source: docs/contract.md#limits */
const forgottenMs = 1_000;

describe("kill -9 under load", () => {
  const store = new TestStore();
  // A slow disk leaves time for what must not happen: an answer before the update is written.
  const disk = hasFaultyDisk ? new FaultyDisk(store) : undefined;
  let server: TestServer;

  afterAll(async () => {
    await server?.stop();
    disk?.remove();
  });

  /** On a disk that is slow, every other time. */
  async function start(round: number): Promise<TestServer> {
    const started = await serve(store, { env: disk?.env ?? {} });
    disk?.heal();
    if (round % 2 === 1) {
      disk?.break({ on: ["writes", "syncs"], delayMs: 10 });
    }
    return started;
  }

  it(`loses no acknowledged update and no older count, ${rounds} times over`, {
    timeout: amount(180_000, 1_800_000),
  }, async () => {
    const beganMs = performance.now();
    await importFixture(store.db);
    server = await start(0);
    const { key } = await store.mintQuota(1_000_000_000, 1_000_000_000);
    const pets = new SharedPets(key);
    const delay = monitorEventLoopDelay();
    delay.enable();
    let last = { counted: 0, sent: 0, answered: 0 };
    for (let round = 0; round < rounds; round++) {
      const killedAtMs = await useUntilKilled(server, pets);
      // A machine that leaves this process waiting leaves the server waiting too.
      const keptUntilMs = killedAtMs - forgottenMs - delay.max / 1e6;
      delay.reset();
      disk?.heal();
      server = await start(round);
      const kept = pets.answeredAtMs.slice(last.answered).filter((atMs) => atMs < keptUntilMs);
      const counted = await countOf(server, key);
      expect(counted).toBeGreaterThanOrEqual(last.counted + kept.length);
      expect(counted).toBeLessThanOrEqual(last.counted + pets.sent - last.sent);
      last = { counted, sent: pets.sent, answered: pets.answeredAtMs.length };
      expect(await Promise.all(ways.map((way) => pets.read(server, way)))).toEqual(ways.map(() => true));
    }
    expect([...pets.refusals]).toEqual([]);
    pets.expectLinearisable();
    // Load that changes nothing would prove nothing.
    expect(pets.updates).toBeGreaterThan(rounds * 2);
    expect(await store.run("check")).toContain("sound");
    const seconds = Math.round((performance.now() - beganMs) / 1_000);
    report("kill -9", { rounds, calls: pets.sent, acknowledgedUpdates: pets.updates, seconds });
  });
});

/** Has clients of all ways use the pets, and kills the server in the middle of it. Returns when that was. */
async function useUntilKilled(server: TestServer, pets: SharedPets): Promise<number> {
  const clients = Array.from({ length: clientsPerWay }, (_, client) =>
    ways.map((way, index) => pets.use(server, way, client * ways.length + index)),
  ).flat();
  await setTimeout(50 + Math.random() * longestLifeMs);
  const killedAtMs = performance.now();
  process.kill(server.pid, "SIGKILL");
  await Promise.all(clients);
  expect(await server.end("SIGKILL")).toBe("SIGKILL");
  return killedAtMs;
}

/** How many calls the key has been charged for today, which itself costs nothing. */
async function countOf(server: TestServer, key: string): Promise<number> {
  const { limits } = expectSuccess(await server.call(rest, "getLimits", {}, { key }));
  const day = limits?.day;
  return Number(day?.limit ?? 0) - Number(day?.remaining ?? 0);
}
