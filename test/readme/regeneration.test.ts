import { execFile, spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pets } from "../support/fixture.ts";
import { hasTools, toolCommands } from "../support/installed.ts";
import { projectRoot } from "../support/petstore.ts";
import { startServer, type TestServer } from "../support/server.ts";

const run = promisify(execFile);
const clients = readFileSync(join(projectRoot, "docs/clients.md"), "utf8");
const section = /^## Regenerating clients with buf\n(.*)/ms.exec(clients)?.[1] ?? "";

// npx fetches what is not installed by its name, and npm's package of the name `buf` is another program.
it.each([
  ["README.md", readFileSync(join(projectRoot, "README.md"), "utf8")],
  ["docs/clients.md", clients],
])("%s has buf installed before it runs it by npx", (_name, text) => {
  const [before = "", ...after] = text.split("npx buf");
  expect(after).not.toEqual([]);
  expect(before).toContain("npm install @bufbuild/buf");
});

/** The files of the section, by the names in their first lines. */
const files = new Map(
  [...section.matchAll(/^```\w+\n(?:#|\/\/) ([^\n,]+)[^\n]*\n(.*?)^```/gms)].map(([, name = "", text = ""]) => [
    name,
    text,
  ]),
);

const folder = mkdtempDisposableSync(join(tmpdir(), "petstore-team-"));
let server: TestServer;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  server = await startServer();
  const { key } = await server.store.mintKey();
  environment = { ...process.env, PETSTORE_API_KEY: key, PATH: `${toolCommands}:${process.env.PATH}` };
});

afterAll(async () => {
  folder.remove();
  await server?.stop();
});

/** Makes a team's folder of the page's files, and has buf generate. What the registry has is gathered instead. */
async function generate(language: string): Promise<string> {
  const team = join(folder.path, language);
  mkdirSync(team);
  cpSync(join(projectRoot, "proto"), join(team, "proto"), { recursive: true });
  await run(process.execPath, [join(projectRoot, "tools/gather-protos.ts"), team]);
  writeFileSync(join(team, "buf.yaml"), files.get("buf.yaml")?.replace(/^deps:.*/ms, "  - path: .protos\n") ?? "");
  writeFileSync(join(team, "buf.gen.yaml"), files.get(`buf.gen.yaml for ${language}`) ?? "");
  await run("buf", ["generate"], { cwd: team, env: environment });
  return team;
}

/** The page's file, as it calls the server of this test. */
function writeProgram(team: string, name: string): string {
  const program = join(team, name);
  writeFileSync(program, (files.get(name) ?? "").replace("127.0.0.1:8080", new URL(server.origin).host));
  return program;
}

function has(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

const hasGo = has("sh", "-c", "command -v protoc-gen-go && command -v protoc-gen-connect-go");
const hasPython =
  has("sh", "-c", "command -v protoc && command -v grpc_python_plugin") && has("python3", "-c", "import grpc");

describe.skipIf(!hasTools)("the way to a client in docs/clients.md (skipped without npm run tools)", () => {
  it("names a file for each step and language", () => {
    expect([...files.keys()]).toEqual([
      "buf.yaml",
      "buf.gen.yaml for TypeScript",
      "list.js",
      "buf.gen.yaml for Go",
      "list.go",
      "buf.gen.yaml for Python",
      "list.py",
    ]);
  });

  it("works in TypeScript", async () => {
    const team = await generate("TypeScript");
    const [init = ""] = /^npm init .*/m.exec(section) ?? [];
    await run("sh", ["-c", init], { cwd: team, env: environment });
    symlinkSync(join(projectRoot, "node_modules"), join(team, "node_modules"));
    const program = writeProgram(team, "list.js");
    const printed = await run(process.execPath, [program], { cwd: team, env: environment });
    expect(printed).toEqual({ stdout: `${pets.length} pets\n`, stderr: "" });
  });

  it.skipIf(!hasGo)("generates in Go, where its plugins are installed", async () => {
    const team = await generate("Go");
    expect(readdirSync(join(team, "gen/petstore/v1/petstorev1connect"))).toContain("inventory_service.connect.go");
  });

  it.skipIf(!hasPython)("works in Python, where protoc, its plugin and grpcio are installed", async () => {
    const team = await generate("Python");
    const program = writeProgram(team, "list.py");
    const env = { ...environment, PYTHONPATH: join(team, "gen") };
    expect((await run("python3", [program], { cwd: team, env })).stdout).toBe(`${pets.length} pets\n`);
  });
});
