import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { projectRoot } from "../support/petstore.ts";

/** A folder outside of the project in which the package is installed. */
const consumer = mkdtempSync(join(tmpdir(), "petstore-consumer-"));
const installed = join(consumer, "node_modules/petstore-inventory");
/** Without the variables that npm sets for scripts, which would affect the npm of the consumer. */
const environment = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"))),
  PATH: process.env.PATH?.split(delimiter)
    .filter((path) => !path.endsWith(join("node_modules", ".bin")))
    .join(delimiter),
};

let packed: string[];
let packedBytes: number;

/** The output of `npm pack`. */
interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
  readonly size: number;
}

async function run(command: string, args: readonly string[], cwd = consumer): Promise<string> {
  const env = { ...environment, npm_config_loglevel: "error" };
  return (await promisify(execFile)(command, [...args], { cwd, env })).stdout;
}

beforeAll(async () => {
  await run(process.execPath, ["tools/build.ts"], projectRoot);
  const report = JSON.parse(
    await run("npm", ["pack", "./dist", "--json", "--pack-destination", consumer], projectRoot),
  );
  const [{ filename, files, size }] = Object.values(report) as [Packed];
  packed = files.map(({ path }) => path);
  packedBytes = size;
  writeFileSync(join(consumer, "package.json"), '{"private": true, "type": "module"}');
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", join(consumer, filename)]);
  // npm loads packages that it has not cached from the registry.
}, 300_000);

afterAll(() => rmSync(consumer, { recursive: true, force: true }));

describe("the npm package", () => {
  it("has the bundle, the protos and the documents, and no source", () => {
    const papers = ["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "THIRD-PARTY-LICENSES", "docs"];
    expect(new Set(packed.map((path) => path.split("/")[0]))).toEqual(
      new Set([...papers, "bin", "lib", "ops", "package.json", "proto"]),
    );
    expect(packed.filter((path) => path.endsWith(".ts"))).toEqual([]);
    expect(packedBytes).toBeLessThan(1_350_000);
  });

  it.each(["README.md", "CHANGELOG.md", "SECURITY.md", "docs/operations.md"])(
    "has what the links of %s lead to",
    (page) => {
      const text = readFileSync(join(installed, page), "utf8");
      const links = [...text.matchAll(/\]\(([^)\s#]+)/g)].map(([, link = ""]) => link);
      const paths = links.filter((link) => !/^https?:/.test(link)).map((link) => join(installed, dirname(page), link));
      expect(paths.filter((path) => !existsSync(path))).toEqual([]);
      expect(paths.length).toBeGreaterThan(0);
    },
  );

  it("depends on the driver of SQLite, and on Node where the machine's is too old", () => {
    const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    expect(dependencies).toEqual({ "better-sqlite3": manifest.dependencies["better-sqlite3"] });
    expect(optionalDependencies).toEqual(manifest.optionalDependencies);
  });

  it("includes the licenses of the bundled packages", () => {
    const licenses = readFileSync(join(installed, "THIRD-PARTY-LICENSES"), "utf8");
    expect(licenses).toContain(`## commander ${manifest.dependencies.commander}, MIT\n\n(The MIT License)`);
    expect(licenses).toContain(`## @connectrpc/connect ${manifest.dependencies["@connectrpc/connect"]}, Apache-2.0`);
  });

  it("has the command line", async () => {
    expect(await run("npx", ["petstore", "--version"])).toBe(`${manifest.version}\n`);
    const created = await run("npx", ["petstore", "keys", "create", "--plan", "pro", "--json", "--db", "fresh.db"]);
    expect(JSON.parse(created)).toMatchObject({ plan: "pro" });
    const pets = "id,name,category,photoUrls,tags,status,quantity\n1,Rex,dog,,,available,3\n";
    writeFileSync(join(consumer, "pets.csv"), pets);
    await run("npx", ["petstore", "import", "pets.csv", "--db", "fresh.db"]);
    expect(await run("npx", ["petstore", "export", "--db", "fresh.db"])).toBe(pets.replaceAll("\n", "\r\n"));
  });

  it("backs up, checks and restores a store", async () => {
    await run("npx", ["petstore", "keys", "create", "--plan", "pro", "--db", "kept.db"]);
    await run("npx", ["petstore", "backup", "copy.db", "--db", "kept.db"]);
    await run("npx", ["petstore", "restore", "copy.db", "--db", "kept.db"]);
    expect(await run("npx", ["petstore", "check", "--db", "kept.db"])).toBe("kept.db is sound\n");
  });

  it("is where the systemd unit expects it", async () => {
    const unit = readFileSync(join(projectRoot, "ops/petstore.service"), "utf8").replaceAll("/opt/petstore", consumer);
    const [, program = ""] = /^ExecStart=(\S+) serve$/m.exec(unit) ?? [];
    // As systemd sets it.
    const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin" };
    expect((await promisify(execFile)(program, ["--version"], { env })).stdout).toBe(`${manifest.version}\n`);
  });

  it("runs without a shell, and without Maglev, by the first line of its program", async () => {
    const program = join(installed, "lib/petstore.js");
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };
    expect((await promisify(execFile)(program, ["--version"], { env })).stdout).toBe(`${manifest.version}\n`);
    expect(readFileSync(program, "utf8")).toMatch(/^#!\/usr\/bin\/env -S node --no-maglev\n/);
  });

  it("serves, and stores updates", async () => {
    const bin = join(consumer, "node_modules/.bin/petstore");
    const flags = ["--demo", "--port", "0", "--ops-port", "0", "--db", "served.db"];
    const serving = spawn(bin, ["serve", ...flags], { cwd: consumer, env: environment });
    const ended = once(serving, "exit");
    const { value: line } = await createInterface({ input: serving.stdout })[Symbol.asyncIterator]().next();
    const created = await run("npx", ["petstore", "keys", "create", "--plan", "pro", "--json", "--db", "served.db"]);
    const origin = String(line).split(" ").at(-1);
    const answer = await fetch(`${origin}/v1/inventory/7`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${JSON.parse(created).key}`, "content-type": "application/json" },
      body: '{"quantity": 70}',
    });
    expect(residentMegabytes(serving.pid)).toBeLessThan(120);
    const page = await (await fetch(`${origin}/docs`)).text();
    const assets = [...page.matchAll(/ (?:src|href)="(\/[^"]*)"/g)].map(([, path]) => path);
    const answers = await Promise.all([...new Set(assets)].map((path) => fetch(`${origin}${path}`)));
    serving.kill();
    expect(assets).toContain("/openapi.json");
    expect(answers.filter(({ ok }) => !ok).map(({ url }) => url)).toEqual([]);
    expect(await answer.json()).toMatchObject({ petId: 7, quantity: 70 });
    expect(await ended).toEqual([0, null]);
  });
});

/** The memory of a process, in megabytes; 0 on a system without `/proc`. */
function residentMegabytes(pid: number | undefined): number {
  const file = `/proc/${pid}/status`;
  return existsSync(file) ? Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(file, "utf8"))?.[1]) / 1000 : 0;
}
