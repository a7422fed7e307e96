/**
 * Writes `dist/`, which the npm package has in place of `src/` and `gen/`: JavaScript with its types, and beside it the
 * files that the source reads. A checkout has no use for it.
 *
 *     node tools/build.ts
 */
import { spawnSync } from "node:child_process";
import { cpSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const output = join(root, "dist");

rmSync(output, { recursive: true, force: true });
compile();
for (const folder of ["gen", "src"]) {
  cpSync(join(root, folder), join(output, folder), {
    recursive: true,
    filter: (path) => statSync(path).isDirectory() || !path.endsWith(".ts"),
  });
}
cpSync(join(root, "CHANGELOG.md"), join(output, "CHANGELOG.md"));

function compile(): void {
  const tsc = join(root, "node_modules/.bin/tsc");
  const { status, error } = spawnSync(tsc, ["--project", "tsconfig.build.json"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0) {
    throw error ?? new Error("tsc failed");
  }
}
