import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countSystemCalls } from "../../bench/probe/system-calls.ts";
import { type ServerProcess, startServer } from "../../bench/server-process.ts";
import { isInstalled } from "../support/installed.ts";

describe("what the bench learns of a server", () => {
  let server: ServerProcess;

  beforeAll(async () => {
    server = await startServer({ args: ["bench/contenders/bare-http.ts"] });
  });

  afterAll(() => server.stop());

  async function ask(times: number): Promise<void> {
    for (let count = 0; count < times; count += 1) {
      await (await fetch(server.origin)).arrayBuffer();
    }
  }

  it("has the bytes that Node allocates for requests", async () => {
    const before = await server.read();
    await ask(100);
    const after = await server.read();
    expect((after?.allocatedBytes ?? 0) - (before?.allocatedBytes ?? 0)).toBeGreaterThan(100 * 100);
  });

  it("has the longest pause since it was asked the last time", async () => {
    await server.read();
    let longestPauseMs = 0;
    while (longestPauseMs === 0) {
      await ask(100);
      longestPauseMs = (await server.read())?.longestPauseMs ?? NaN;
    }
    expect(longestPauseMs).toBeGreaterThan(0);
    expect((await server.read())?.longestPauseMs).toBe(0);
  });

  it.runIf(isInstalled("strace"))("has the system calls of all threads", async () => {
    // Each request takes a read and a write.
    expect(await countSystemCalls(server.pid, () => ask(50))).toBeGreaterThan(100);
  });
});

it("is nothing of a server that is not on Node", async () => {
  const server = await startServer({
    program: "sh",
    args: ["-c", "echo listening on http://127.0.0.1:1; exec sleep 60"],
  });
  try {
    expect(await server.read()).toBeUndefined();
    expect(server.cpuSeconds).toBeLessThan(1);
  } finally {
    await server.stop();
  }
});
