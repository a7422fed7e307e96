import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasTools } from "../support/installed.ts";
import { projectRoot } from "../support/petstore.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";

const readme = readFileSync(join(projectRoot, "README.md"), "utf8");
const tour = /^## A minute's tour\n(.*?)^## /ms.exec(readme)?.[1] ?? "";

/** The commands of the tour that call the server, each on one line. */
const calls = [...tour.matchAll(/^```sh\n(.*?)^```/gms)]
  .flatMap(([, block = ""]) => block.replaceAll("\\\n", " ").split("\n"))
  .filter((line) => /^(curl|npm run) /.test(line));

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await serve(new TestStore(), { flags: ["--demo"] });
  key = (await server.store.mintKey()).key;
});

afterAll(() => server?.stop());

/** The environment, without what npm tells its scripts: it would be meant for the npm of the README, too. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));

/** Runs a command as it stands in the README, on the server of this test. Returns what it prints. */
async function run(command: string): Promise<string> {
  const env = { ...environment, PETSTORE_API_KEY: key };
  const line = command.replace("http://127.0.0.1:8080", server.origin);
  return (await promisify(execFile)("sh", ["-c", line], { cwd: projectRoot, env })).stdout.trim();
}

/** Whether a command prints what comes, until it is ended. */
function isEndless(call: string): boolean {
  return call.startsWith("curl -N ");
}

describe("the README's tour", () => {
  it("lists, updates, asks for limits, and calls over Connect and gRPC", () => {
    expect(calls.map((call) => call.split(" ", 1)[0])).toEqual([...Array(8).fill("curl"), "npm"]);
  });

  const ending = calls.filter((call) => !isEndless(call) && (hasTools || call.startsWith("curl")));
  it.each(ending)("has a command that works: %s", async (call) => {
    const answer = JSON.parse(await run(call));
    expect(answer).not.toHaveProperty("code");
    expect(answer).not.toEqual({});
  });

  it.each(calls.filter(isEndless))("has a command that prints each change: %s", async (call) => {
    const printed = await run(`${call.replace("curl -N", "curl -sN --max-time 2")} || true`);
    const [event = ""] = printed.split("\n\n");
    expect(event).toMatch(/^id: \S+\nevent: stock-change\ndata: \{/);
  });

  it("shows what the update answers", async () => {
    const [, update = ""] = calls;
    expect(tour).toContain(`\`${await run(update)}\``);
  });
});
