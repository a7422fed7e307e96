import { execFile } from "node:child_process";
import { mkdtempDisposableSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectRoot } from "../support/petstore.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";

const section = /^## TypeScript\n(.*?)^## /ms.exec(read("docs/clients.md"))?.[1] ?? "";

/** The programs of a page that use the client. */
function programsOf(page: string): readonly string[] {
  return [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = ""]) => code);
}

function read(name: string): string {
  return readFileSync(join(projectRoot, name), "utf8");
}

const folder = mkdtempDisposableSync(join(tmpdir(), "petstore-reader-"));
let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await serve(new TestStore(), { flags: ["--demo"] });
  key = (await server.store.mintKey()).key;
  symlinkSync(join(projectRoot, "node_modules"), join(folder.path, "node_modules"));
});

afterAll(async () => {
  folder.remove();
  await server?.stop();
});

/** Runs a program as it stands on the page, on the server of this test. Returns what it prints. */
async function run(code: string): Promise<string> {
  const program = join(folder.path, "pets.mts");
  writeFileSync(program, code.replace("http://127.0.0.1:8080", server.origin));
  const env = { ...process.env, PETSTORE_API_KEY: key, BASE_URL: `${server.origin}/v1` };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program], { env });
  expect(stderr).toBe("");
  return stdout;
}

describe("the client", () => {
  it("lists the stock as docs/clients.md says", async () => {
    const [list = ""] = programsOf(section);
    expect(await run(list)).toMatch(/^(pet \d+: \d+ in stock\n)+$/);
  });

  it("does what its own README says", async () => {
    const [tour = "", grpc = "", ...others] = programsOf(read("client/README.md"));
    expect(others).toEqual([]);
    expect(await run(tour)).toMatch(
      /^(pet \d+: \d+ in stock\n)+pet 7 now has 5\nthere is no pet 404404\n\d+ requests left until /,
    );
    expect(await run(grpc)).toMatch(/^\d+ requests left in this minute\n$/);
  });
});
