import { once } from "node:events";
import type { Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectSuccess } from "../support/expectations.ts";
import { importFixture } from "../support/fixture.ts";
import { amount } from "../support/long.ts";
import { openFiles } from "../support/process-usage.ts";
import { openSocket, readAnswer } from "../support/raw.ts";
import { report } from "../support/report.ts";
import { serve, TestStore } from "../support/server.ts";
import { ways } from "./ways.ts";

/** How many files and sockets the server may have open. */
const limit = amount(120, 512);

/** More connections than that, which say nothing. */
const connections = 2 * limit;

it.skipIf(process.platform !== "linux")(
  "serves those who are connected while it can open no more files, and all others after that",
  {
    timeout: amount(60_000, 180_000),
  },
  async () => {
    const store = new TestStore();
    await importFixture(store.db);
    const { key } = await store.mintQuota(1_000_000, 1_000_000);
    const server = await serve(store, { by: withFiles(limit) });
    onTestFinished(() => server.stop());
    const update = async (quantity: bigint) => {
      for (const way of ways) {
        expectSuccess(await server.call(way, "updateInventory", { petId: 7n, update: { quantity } }, { key }));
        expectSuccess(await server.call(way, "listInventory", {}, { key }));
      }
    };
    await update(1n);
    const before = openFiles(server.pid);

    const sockets = Array.from({ length: connections }, () => openSocket(server).on("error", () => {}));
    await until(async () => openFiles(server.pid) >= limit - 1, 10_000);
    await update(2n);
    const { message } = await server.call(rest, "listInventory", {}, { key });
    expect(message?.items.find(({ petId }) => petId === 7n)?.quantity).toBe(2n);

    await Promise.all(sockets.map(close));
    await until(async () => openFiles(server.pid) <= before, 20_000);
    server.closeClients();
    await update(3n);
    const late = openSocket(server);
    late.write("GET /v1/inventory HTTP/1.1\r\nHost: x\r\n\r\n");
    expect((await readAnswer(late)).status).toBe(401);
    late.destroy();
    report("open files", { limit, connections, before });
  },
);

/** Has a command open no more than so many files, its standard streams included. */
function withFiles(count: number): readonly string[] {
  return ["sh", "-c", `ulimit -n ${count}; exec "$0" "$@"`];
}

async function close(socket: Socket): Promise<void> {
  if (!socket.destroyed) {
    const closed = once(socket, "close");
    socket.destroy();
    await closed;
  }
}

/**
 * What Node tells a server when a connection cannot be accepted, and the system has not even a handle to refuse it
 * with.
 */
const unaccepted = `
  import { Server } from "node:http";
  const { listen } = Server.prototype;
  Server.prototype.listen = function (...args) {
    const tell = () => this.emit("error", Object.assign(new Error("accept EMFILE"), { code: "EMFILE" }));
    this.once("listening", () => setTimeout(tell, 100));
    return listen.apply(this, args);
  };`;

it("logs that a connection cannot be accepted, and goes on", async () => {
  const server = await serve(new TestStore(), {
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(unaccepted)}` },
  });
  onTestFinished(() => server.stop());
  await until(async () => server.log.includes("a connection could not be accepted"), 10_000);
  expect((await fetch(`${server.opsOrigin}/readyz`)).status).toBe(200);
  expect((await fetch(`${server.origin}/openapi.json`)).status).toBe(200);
});
