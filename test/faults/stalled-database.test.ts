import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { describe, expect, it, onTestFinished } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectSuccess } from "../support/expectations.ts";
import { importFixture } from "../support/fixture.ts";
import { amount } from "../support/long.ts";
import { clusterPort, reserveDatabase } from "../support/postgres/databases.ts";
import { postgresPrograms } from "../support/postgres/programs.ts";
import { DatabaseProxy } from "../support/postgres/proxy.ts";
import { openSocket } from "../support/raw.ts";
import { report } from "../support/report.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";

/** Starts a server whose database can be made to hang. */
async function serveBehindProxy(...flags: readonly string[]) {
  const port = await clusterPort();
  const store = new TestStore(reserveDatabase(port));
  await store.prepare();
  await importFixture(store.db);
  const proxy = await DatabaseProxy.start(port);
  const database = new URL(store.db);
  database.port = String(proxy.port);
  const server = await serve(store, { flags: ["--database", database.href, ...flags] });
  onTestFinished(async () => {
    proxy.thaw();
    await server.end("SIGKILL");
    await proxy.close();
    store.remove();
  });
  return { server, proxy, store };
}

/** Whether the server's port takes a new connection. */
async function takesConnections(server: TestServer): Promise<boolean> {
  const socket = openSocket(server);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** What the operator's port says of the server; undefined once that has ended. */
function readiness({ opsOrigin }: TestServer): Promise<string | undefined> {
  return fetch(`${opsOrigin}/readyz`).then(
    (answer) => answer.text(),
    () => undefined,
  );
}

describe.skipIf(postgresPrograms === undefined)("a server that is told to stop while PostgreSQL hangs", () => {
  it("takes no more connections at once, and ends with 1 within 3 s after its grace", async () => {
    const { server, proxy, store } = await serveBehindProxy("--shutdown-grace", "4s");
    const { key } = await store.mintKey();
    expectSuccess(await server.call(rest, "getPet", { petId: 7n }, { key }));
    proxy.freeze();
    const beganMs = performance.now();
    process.kill(server.pid, "SIGTERM");
    await until(async () => !(await takesConnections(server)), 5_000);
    expect(await readiness(server)).toBe("stopping\n");
    const exit = await server.ended();
    const seconds = (performance.now() - beganMs) / 1_000;
    report("end while PostgreSQL hangs", { exit, seconds });
    expect(exit).toBe(1);
    expect(seconds).toBeLessThan(amount(12, 8));
    expect(server.log).toContain("the server exits, although its database does not answer");
    expect(server.log).not.toContain("disk");
  });
});
