import { execFile, spawn } from "node:child_process";
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

/** How a program runs as it stands on the page, on the server of this test, in a folder of its own. */
function prepare(code: string) {
  const program = join(folder.path, "pets.mts");
  writeFileSync(program, code.replace("http://127.0.0.1:8080", server.origin));
  const env = { ...process.env, PETSTORE_API_KEY: key, BASE_URL: `${server.origin}/v1` };
  return { program, options: { env, cwd: folder.path } };
}

/** Runs a program. Returns what it prints. */
async function run(code: string): Promise<string> {
  const { program, options } = prepare(code);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program], options);
  expect(stderr).toBe("");
  return stdout;
}

/** Runs a program that goes on for ever, and ends it when what it prints ends with this. Returns what it has printed. */
async function runUntil(code: string, end: string): Promise<string> {
  const { program, options } = prepare(code);
  const running = spawn(process.execPath, [program], options);
  let printed = "";
  for await (const text of running.stdout.setEncoding("utf8")) {
    printed += text;
    if (printed.endsWith(end)) {
      running.kill();
    }
  }
  return printed;
}

describe("the client", () => {
  it("lists the stock as docs/clients.md says", async () => {
    const [list = ""] = programsOf(section);
    expect(await run(list)).toMatch(/^(pet \d+: \d+ in stock\n)+$/);
  });

  const [tour = "", watching = "", mirroring = "", grpc = "", ...others] = programsOf(read("client/README.md"));

  // In this order: each finds what the one before it has set.
  it("lists, and updates, as its own README says", async () => {
    expect(await run(tour)).toMatch(
      /^(pet \d+: \d+ in stock\n)+pet 7 now has 5\nthere is no pet 404404\n\d+ requests left until /,
    );
  });

  it("watches as its own README says", async () => {
    expect(await runUntil(watching, "12 → 5\n")).toMatch(/^(pet \d+: new → \d+\n)+pet 7: 12 → 5\n$/);
  });

  it("mirrors as its own README says", async () => {
    expect(await run(mirroring)).toMatch(/^\d+ pets, 5 of pet 7\npet 7: 5 → 6\n$/);
  });

  it("goes on where it was, as its own README says", async () => {
    // The run before may have ended between its last line and its note of it.
    expect(await runUntil(watching, "5 → 6\n")).toMatch(/^(pet 7: 12 → 5\n)?pet 7: 5 → 6\n$/);
  });

  it("speaks gRPC as its own README says", async () => {
    expect(await run(grpc)).toMatch(/^\d+ requests left in this minute\n$/);
    expect(others).toEqual([]);
  });
});
