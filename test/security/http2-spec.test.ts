import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startServer, type TestServer } from "../support/server.ts";

/** `h2spec`, from `H2SPEC` or the path. Source: https://github.com/summerwind/h2spec */
const h2spec = process.env.H2SPEC ?? "h2spec";
const isFound = spawnSync(h2spec, ["--version"]).status === 0;

/** What does not begin as HTTP/2 is answered in HTTP/1.1, on the same port. */
const others = ["Sends invalid connection preface"];

let server: TestServer;
let folder: string;

beforeAll(async () => {
  server = await startServer();
  folder = mkdtempSync(join(tmpdir(), "petstore-h2spec-"));
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server?.stop();
});

it.skipIf(!isFound)(
  `does all that h2spec asks for but what is known${isFound ? "" : " (skipped without h2spec)"}`,
  async () => {
    const report = join(folder, "report.xml");
    const options = ["-h", "127.0.0.1", "-p", String(server.port), "-P", "/openapi.json", "--timeout", "2"];
    await promisify(execFile)(h2spec, [...options, "--junit-report", report]).catch(() => {});
    const cases = readFileSync(report, "utf8").split("<testcase").slice(1);
    const failed = cases
      .filter((text) => /<(failure|error)/.test(text))
      .map((text) => /classname="([^"]*)"/.exec(text)?.[1]);
    expect(cases.length).toBeGreaterThan(140);
    expect(failed.filter((title) => !others.includes(title ?? ""))).toEqual([]);
  },
  120_000,
);
