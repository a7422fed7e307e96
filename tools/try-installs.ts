/**
 * Tries the project's two commands, and its package, with the versions of Node and npm that users have. Each is
 * installed from the registry, in a copy of the working tree or in an empty project, with an empty HOME and without a
 * compiler or Python in PATH. Prints a line for each, and exits with 1 when one fails.
 *
 *     bin/node tools/try-installs.ts [--checkout] [--package] [NODE/NPM …]
 *
 * A version is exact, or a range such as `20`. Without versions it tries all in the list below, in about ten minutes.
 */
import { execFileSync } from "node:child_process";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Attempt, tryCheckout, tryPackage } from "./installs/attempt.ts";
import { createMachine } from "./installs/machine.ts";

/** The npm of each supported Node, and some in between, each with the oldest and newest Node that it supports. */
const known = [
  ["20.20.2", "9.9.4"],
  ["20.20.2", "10.9.4"],
  ["20.20.2", "11.0.0"],
  ["20.20.2", "11.6.2"],
  ["22.23.3", "10.9.4"],
  ["22.23.3", "11.6.0"],
  ["22.23.3", "12.2.0"],
  ["24.21.0", "9.9.4"],
  ["24.21.0", "11.6.2"],
  ["24.21.0", "12.2.0"],
  ["26.10.0", "11.0.0"],
  ["26.10.0", "12.2.0"],
].map(([node = "", npm = ""]) => ({ node, npm }));

const { values, positionals } = parseArgs({
  options: { checkout: { type: "boolean" }, package: { type: "boolean" } },
  allowPositionals: true,
});
const both = values.checkout === values.package;
const wanted = positionals.map((pair) => ({ node: pair.split("/")[0] ?? "", npm: pair.split("/")[1] ?? "" }));
const root = join(import.meta.dirname, "..");

using scratch = mkdtempDisposableSync(join(tmpdir(), "petstore-installs-"));
let tarball = "";
if (both || values.package) {
  const output = execFileSync("npm", ["run", "--silent", "pack"], { cwd: root, encoding: "utf8" });
  // npm prints the name of the tarball last. Older tarballs may be in the folder.
  tarball = join(root, output.trim().split("\n").at(-1) ?? "");
}

console.log(
  "| what | Node | npm | installs in | MB | runs on Node | result |\n| --- | --- | --- | --- | --- | --- | --- |",
);
for (const versions of wanted.length > 0 ? wanted : known) {
  const machine = createMachine(scratch.path, versions);
  if (both || values.checkout) {
    report("npm ci, start, test", await tryCheckout(machine, root));
  }
  if (both || values.package) {
    report("package", await tryPackage(machine, tarball));
  }

  function report(what: string, { seconds, megabytes, runsOn, failure }: Attempt): void {
    const { node, npm } = versions;
    console.log(
      `| ${what} | ${node} | ${npm} | ${seconds} s | ${megabytes} | ${runsOn} | ${failure ?? "as it should"} |`,
    );
    if (failure !== undefined) {
      process.exitCode = 1;
    }
  }
}
