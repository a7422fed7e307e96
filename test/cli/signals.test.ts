import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/deadline.ts";
import { createFolder } from "../support/folder.ts";
import { petstore, type Running, startPetstore } from "../support/petstore.ts";

/** Starts a command. It ends with the test at the latest. */
function start(command: readonly string[], cwd: string): Running {
  const running = startPetstore(command, { cwd });
  onTestFinished(async () => void (await running.end("SIGKILL")));
  return running;
}

const serve = ["serve", "--port", "0", "--ops-port", "0"];

/** Starts a command that waits for its configuration file until `goOn` is called. */
async function startHeldUp(command: readonly string[]) {
  const cwd = createFolder();
  const file = join(cwd, "held.yaml");
  execFileSync("mkfifo", [file]);
  const running = start([...command, "--config", file], cwd);
  // A pipe opens for writing only when it is open for reading.
  const pipe = await open(file, "w");
  return { ...running, goOn: () => pipe.close() };
}

describe("a signal that comes while the server starts", () => {
  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("ends it with 0 before it is announced: %s", async (signal) => {
    const server = await startHeldUp(serve);
    process.kill(server.pid, signal);
    await server.goOn();
    expect(await server.nextLine()).toBeUndefined();
    expect(await server.end()).toBe(0);
  });

  it("turns the log level debug on from the start", async () => {
    const server = await startHeldUp(serve);
    process.kill(server.pid, "SIGUSR2");
    await server.goOn();
    await server.nextLine();
    const opsUrl = (await server.nextLine())?.split(" ").at(-1);
    expect(await (await fetch(`${opsUrl}/log-level`)).text()).toBe("debug\n");
  });
});

it("keeps the default signal actions in other commands", async () => {
  const command = await startHeldUp(["keys", "list"]);
  expect(await command.end("SIGTERM")).toBe("SIGTERM");
  await command.goOn();
});

it("opens no debugger on SIGUSR1, and goes on", async () => {
  const server = start(serve, createFolder());
  await server.nextLine();
  process.kill(server.pid, "SIGUSR1");
  expect((await fetch(`${(await server.nextLine())?.split(" ").at(-1)}/healthz`)).status).toBe(200);
  expect(await server.end("SIGTERM")).toBe(0);
  expect(server.log()).not.toContain("Debugger");
});

it("ends with 0 on SIGHUP", async () => {
  const server = start(serve, createFolder());
  await server.nextLine();
  expect(await server.end("SIGHUP")).toBe(0);
  expect(server.log()).toContain("the server has stopped");
});

/** Starts a server with a running call, and tells it to stop. `finish` ends the call. */
async function stopWithCall() {
  const cwd = createFolder();
  const { key } = JSON.parse((await petstore(["keys", "create", "--plan", "pro", "--json"], { cwd })).stdout);
  const server = start(serve, cwd);
  const port = Number((await server.nextLine())?.split(":").at(-1));
  const opsUrl = (await server.nextLine())?.split(" ").at(-1);
  const headers = { authorization: `Bearer ${key}`, expect: "100-continue", "content-length": 14 };
  const call = request({ host: "127.0.0.1", port, path: "/v1/inventory/7", method: "PATCH", headers });
  call.on("error", () => {}).flushHeaders();
  await once(call, "continue");
  process.kill(server.pid, "SIGTERM");
  await until(async () => (await fetch(`${opsUrl}/readyz`)).status === 503, 5_000);
  // Until then, a second signal counts as the first one, which npm passed on.
  const toldAtMs = performance.now();
  await until(async () => performance.now() - toldAtMs > 600, 5_000);
  return { ...server, finish: () => call.end('{"quantity":1}') };
}

it("ends at once, and says so, at the second signal", async () => {
  const server = await stopWithCall();
  expect(await server.end("SIGTERM")).toBe(143);
  expect(JSON.parse(server.log().trim().split("\n").at(-1) ?? "")).toMatchObject({
    level: 40,
    msg: "the server exits at once, without waiting for running calls",
    signal: "SIGTERM",
  });
});

it("ends with 0 whatever signals come after it has stopped", async () => {
  const server = await stopWithCall();
  let hasEnded = false;
  const end = server.end().finally(() => {
    hasEnded = true;
  });
  server.finish();
  await until(async () => server.log().includes("the server has stopped"), 5_000);
  while (!hasEnded) {
    void server.end("SIGTERM");
    await setImmediate();
  }
  expect(await end).toBe(0);
});
