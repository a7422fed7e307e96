import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { expect, it, onTestFinished } from "vitest";
import { createFolder } from "../support/folder.ts";
import { projectRoot } from "../support/petstore.ts";

it("goes on, and ends as ever, when there is no room for the log", async () => {
  const full = openSync("/dev/full", "w");
  const args = [join(projectRoot, "src/main.ts"), "serve", "--port", "0", "--ops-port", "0", "--log-level", "debug"];
  const server = spawn(process.execPath, args, { cwd: createFolder(), stdio: ["ignore", "pipe", full] });
  closeSync(full);
  const ended = once(server, "exit");
  onTestFinished(async () => {
    server.kill("SIGKILL");
    await ended;
  });
  const [line] = await Promise.race([once(createInterface({ input: server.stdout as Readable }), "line"), ended]);
  const url = /http:\S+/.exec(String(line))?.[0];
  for (let call = 0; call < 20; call++) {
    expect((await fetch(`${url}/v1/inventory`)).status).toBe(401);
  }
  server.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});
