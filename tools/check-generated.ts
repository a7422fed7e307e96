/**
 * Checks that the generated code in the repository is what `npm run gen` makes of the protos. Prints a line for each
 * file that differs; the exit code is then 1.
 *
 *     bin/node tools/check-generated.ts
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

const root = join(import.meta.dirname, "..");

/** The folder with buf and its plugins. */
const commands = join(import.meta.dirname, "node_modules/.bin");

/** The folders that `buf generate` writes, and the arguments of each of its calls for a folder. */
const outputs = [
  { folder: "gen", args: [[], ["--template", "buf.gen.openapi.yaml"]] },
  { folder: "client/src/gen", args: [["--template", "client/buf.gen.yaml"]] },
  {
    folder: "test/gateway/gen",
    args: [["--config", "test/gateway/buf.yaml", "--template", "test/gateway/buf.gen.yaml"]],
  },
];

const scratch = mkdtempSync(join(tmpdir(), "petstore-gen-"));
try {
  const differences = outputs.flatMap(({ folder, args }) => {
    for (const pass of args) {
      run("buf", "generate", ...pass, "--output", scratch);
    }
    return compare(join(root, folder), join(scratch, folder)).map((name) => join(folder, name));
  });
  for (const name of differences) {
    console.error(`${name}: is not what the protos make; run npm run gen`);
  }
  process.exitCode = differences.length === 0 ? 0 : 1;
} finally {
  rmSync(scratch, { recursive: true });
}

function run(command: string, ...args: string[]): void {
  const env = { ...process.env, PATH: `${commands}:${process.env.PATH}` };
  const { status, error } = spawnSync(command, args, { cwd: root, env, stdio: "inherit" });
  if (status !== 0) {
    throw error ?? new Error(`${command} ${args.join(" ")} failed`);
  }
}

/** The names of files that differ, or that only one folder has. */
function compare(one: string, other: string): string[] {
  const [ours, theirs] = [readAll(one), readAll(other)];
  const names = new Set([...ours.keys(), ...theirs.keys()]);
  return [...names].filter((name) => ours.get(name) !== theirs.get(name)).sort();
}

/** The texts of all files in a folder and its subfolders, by their paths within it. */
function readAll(folder: string): ReadonlyMap<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = entries.map(({ parentPath, name }) => join(parentPath, name));
  return new Map(files.map((file) => [relative(folder, file), readFileSync(file, "utf8")]));
}
