import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { describe, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectSuccess } from "../support/expectations.ts";
import { amount } from "../support/long.ts";
import { postgresPrograms } from "../support/postgres/programs.ts";
import { serveBehindProxy } from "../support/postgres/proxied-server.ts";
import { openSocket } from "../support/raw.ts";
import { report } from "../support/report.ts";
import type { TestServer } from "../support/server.ts";

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
